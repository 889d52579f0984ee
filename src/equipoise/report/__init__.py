"""The report page and the model card: what they hold, and how they are written.

`write_report` writes one HTML file that needs no network, `write_model_card` a Markdown file, both
from a `ReportContents`. `report_of` makes one in Python; the command line makes its own.
"""

from equipoise.report.card import model_card, write_model_card
from equipoise.report.contents import ReportContents
from equipoise.report.page import write_report
from equipoise.report.summary import report_of

__all__ = ["ReportContents", "model_card", "report_of", "write_model_card", "write_report"]
