"""Which of two labels is the favourable decision: plain words say it, and all else has to be said.

No order of letters tells: of "approved" and "denied" the second in sorted order is a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

#: Words of a favourable decision, in the languages whose tables are read: English, German, French,
#: Spanish, Italian, Portuguese and Dutch.
_FAVOURABLE = (
    "yes y true t good approve approved accept accepted admit admitted hire hired pay paid repaid",
    "grant granted pass passed select selected invite invited offered qualified eligible success",
    "successful",
    "ja j wahr gut genehmigt bewilligt angenommen akzeptiert zugelassen eingestellt eingeladen",
    "bezahlt zurückgezahlt bestanden geeignet",
    "oui o vrai bon approuvé accepté accordé admis embauché payé remboursé réussi",
    "sí si s verdadero bueno aprobado aceptado concedido admitido contratado pagado",
    "sì vero buono approvato accettato concesso ammesso assunto pagato",
    "sim verdadeiro bom aprovado aceito aceite pago",
    "waar goed goedgekeurd geaccepteerd toegekend toegelaten aangenomen betaald geslaagd",
)
#: Words of the opposite.
_UNFAVOURABLE = (
    "no n false f bad deny denied reject rejected refuse refused decline declined unpaid default",
    "defaulted fail failed failure unqualified ineligible unsuccessful",
    "nein falsch schlecht abgelehnt verweigert unbezahlt durchgefallen ungeeignet",
    "non faux mauvais refusé rejeté impayé échoué",
    "falso malo denegado rechazado impagado",
    "cattivo negato respinto rifiutato",
    "não nao mau ruim negado recusado rejeitado reprovado",
    "nee onwaar slecht afgewezen geweigerd onbetaald gezakt",
)
_SIGNS = dict.fromkeys(" ".join(_FAVOURABLE).split(), 1) | dict.fromkeys(
    " ".join(_UNFAVOURABLE).split(), -1
)
#: Numbers in words, as scikit-learn's checks of estimators have them.
_NUMBERS = {"zero": 0.0, "one": 1.0, "two": 2.0}
_NEGATION = r"(?:not|no|non|nicht|kein|pas|não|niet)\s+"


def favourable_label(labels: Sequence[Any]) -> Any:
    """Return the favourable one of two labels in sorted order; None where it has to be said.

    Of numbers, also those in text, it is the larger one, and of truth values True.

    >>> favourable_label([0, 1]), favourable_label(["approved", "denied"])
    (1, 'approved')
    >>> favourable_label(["hired", "not hired"]), favourable_label(["A", "B"])
    ('hired', None)
    """
    if not all(isinstance(label, str) for label in labels):
        return labels[1]
    with suppress(ValueError):
        return max(labels, key=_number)
    signs = [_sign(label) for label in labels]
    return labels[signs.index(1)] if set(signs) == {-1, 1} else None


def _number(label: str) -> float:
    """Return the number that a text says; raise ValueError if it says none."""
    return _NUMBERS[label] if label in _NUMBERS else float(label)


def _sign(label: str) -> int:
    """Return 1 for a favourable word, -1 for the opposite and 0 for any other."""
    word = re.sub(r"[\s_-]+", " ", label.casefold()).strip()
    plain = re.sub(f"^{_NEGATION}", "", word)
    sign = _SIGNS.get(plain, 0)
    return sign if plain == word else -sign


def favourable_of(labels: Sequence[Any], asked: Any, name: str, parameter: str) -> Any:
    """Return the favourable one of two labels: that asked for, or the one that plain words say.

    Parameters
    ----------
    labels : sequence of two labels in sorted order
    asked : label, optional
    name, parameter : str
        What the labels are called, and the parameter that says which one is favourable.
    """
    first, second = labels
    if asked is not None:
        if asked not in labels:
            raise ValueError(
                f"{parameter} is {asked!r}, but {name} has the labels {first!r} and {second!r}; "
                "expected one of these."
            )
        return asked
    label = favourable_label(labels)
    if label is None:
        raise ValueError(
            f"{name} has the labels {first!r} and {second!r}, which do not say which of them is "
            f"the favourable one. Pass {parameter}={first!r} or {parameter}={second!r}."
        )
    return label
