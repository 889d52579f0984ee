// Chooses a point of the frontier. Everything is in the page already: this shows and hides.
(function () {
  "use strict";
  var all = function (query, root) {
    return Array.prototype.slice.call((root || document).querySelectorAll(query));
  };
  document.documentElement.classList.add("js");

  var place = document.getElementById("chosen");
  var panels = all("[data-panel]");
  var marks = all("#points [data-point]");
  var links = all("table [data-point]");
  var slider = document.getElementById("bound");
  var keys = panels.map(function (panel) { return panel.dataset.panel; });

  function choose(key, told) {
    if (keys.indexOf(key) < 0) { return; }
    panels.forEach(function (panel) {
      var here = panel.dataset.panel === key;
      panel.hidden = !here;
      panel.open = here;
      if (here && told) {
        document.getElementById("announced").textContent = panel.dataset.summary;
      }
    });
    marks.forEach(function (mark) {
      var here = mark.dataset.point === key;
      mark.classList.toggle("chosen", here);
      mark.setAttribute("tabindex", here ? "0" : "-1"); // one stop for Tab, arrows between points
      if (here) {
        mark.setAttribute("aria-current", "true");
      } else {
        mark.removeAttribute("aria-current");
      }
    });
    links.forEach(function (link) {
      link.closest("tr").classList.toggle("chosen", link.dataset.point === key);
    });
    if (slider) {
      var title = document.getElementById("title-" + key).textContent;
      slider.value = slider.dataset.keys.split(" ").indexOf(key);
      slider.setAttribute("aria-valuetext", title);
      document.getElementById("bound-shown").textContent =
        links.filter(function (link) { return link.dataset.point === key; })
          .map(function (link) { return link.textContent; })[0] || title;
    }
    beside();
    refer();
    if (told) { history.replaceState(null, "", "#point-" + key); }
  }

  // Two points beside each other: what stands for no constraint is taken from another point.
  var compare = document.getElementById("compare");
  var PAIRS = [["td.free", "td.fair"], [".value .free", ".value .own"], ["g.free", "g.fair"],
    [".beside", "strong.measured"]];

  function put(target, html) {
    if (target.kept === undefined) { target.kept = target.innerHTML; }
    target.innerHTML = html === null ? target.kept : html;
  }

  function beside() {
    all(".against").forEach(function (old) { old.remove(); });
    var here = panels.filter(function (panel) { return !panel.hidden; })[0];
    if (!compare || !here || here.dataset.panel === "free") { return; }
    var free = compare.value === "free";
    var other = document.getElementById("point-" + compare.value);
    var name = compare.selectedOptions[0].textContent;
    PAIRS.forEach(function (pair) {
      var from = all(pair[1], other);
      all(pair[0], here).forEach(function (target, at) {
        put(target, free ? null : (from[at] ? from[at].innerHTML : ""));
      });
    });
    all(".other, th.free", here).forEach(function (target) { put(target, free ? null : name); });
  }

  // Differences from, and ratios to, the rates of one group.
  var reference = document.getElementById("reference");

  function share(cell) {
    var exact = cell.querySelector("data");
    return exact ? parseFloat(exact.value) : NaN;
  }

  function refer() {
    if (!reference || !reference.value) { return; }
    all("table.rates").forEach(function (table) {
      var rows = all("tbody tr", table);
      var of = rows.filter(function (row) {
        return row.querySelector("th").textContent === reference.value;
      })[0];
      if (!of) { return; }
      var to = all("td", of).map(share);
      rows.forEach(function (row) {
        if (row === of) { return; }
        all("td", row).forEach(function (cell, at) {
          var more = share(cell) - to[at];
          if (isNaN(more)) { return; }
          var note = document.createElement("span");
          note.className = "against";
          note.textContent = (more < 0 ? "−" : "+") + (100 * Math.abs(more)).toFixed(1) + " points" +
            (to[at] > 0 ? ", ×" + (share(cell) / to[at]).toFixed(2) : "");
          cell.appendChild(note);
        });
      });
    });
  }

  function fromAddress() {
    var found = /^#point-(\w+)$/.exec(location.hash);
    return found && keys.indexOf(found[1]) >= 0 ? found[1] : null;
  }

  if (place) {
    choose(fromAddress() || place.dataset.first, false);
    window.addEventListener("hashchange", function () {
      if (fromAddress()) { choose(fromAddress(), true); }
    });
  }

  // Marks may lie on each other: a click means the nearest, wherever it falls on the picture.
  function nearest(event, picture) {
    var at = new DOMPoint(event.clientX, event.clientY);
    at = at.matrixTransform(picture.getScreenCTM().inverse());
    var best = null, least = Infinity;
    all(".target", picture).forEach(function (target) {
      var away = Math.hypot(target.cx.baseVal.value - at.x, target.cy.baseVal.value - at.y);
      if (away < least) { least = away; best = target.closest("[data-point]"); }
    });
    return best;
  }

  all("svg.frontier").forEach(function (picture) {
    picture.addEventListener("click", function (event) {
      // A screen reader or a key clicks without a place.
      var mark = event.detail ? nearest(event, picture) : event.target.closest("[data-point]");
      if (!mark) { return; }
      event.preventDefault();
      choose(mark.dataset.point, true);
      mark.focus({ preventScroll: true });
    });
  });

  marks.forEach(function (mark, at) {
    mark.addEventListener("keydown", function (event) {
      var to = {
        ArrowRight: at + 1, ArrowUp: at + 1, ArrowLeft: at - 1, ArrowDown: at - 1,
        Home: 0, End: marks.length - 1, " ": at
      }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) { return; }
      event.preventDefault();
      to = Math.min(Math.max(to, 0), marks.length - 1);
      choose(marks[to].dataset.point, true);
      marks[to].focus();
    });
  });

  links.forEach(function (link) {
    link.addEventListener("click", function (event) {
      event.preventDefault();
      choose(link.dataset.point, true);
      var title = document.getElementById("title-" + link.dataset.point);
      title.focus({ preventScroll: true });
      document.getElementById("frontier").scrollIntoView();
    });
  });

  if (slider) {
    slider.closest("p").hidden = false;
    slider.addEventListener("input", function () {
      choose(slider.dataset.keys.split(" ")[slider.valueAsNumber], true);
    });
  }

  all(".compare").forEach(function (line) { line.hidden = false; });
  [[compare, "Compared with "], [reference, "Reference group: "]].forEach(function (pair) {
    if (!pair[0]) { return; }
    pair[0].addEventListener("change", function () {
      beside();
      refer();
      var told = document.getElementById("announced");
      if (told) { told.textContent = pair[1] + pair[0].selectedOptions[0].textContent; }
    });
  });

  function selected(node) {
    var range = document.createRange();
    range.selectNodeContents(node);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    return document.execCommand("copy");
  }

  all("button.copy").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var code = button.parentNode.querySelector("code");
      var done = function () {
        button.textContent = "Copied";
        setTimeout(function () { button.textContent = "Copy"; }, 2000);
      };
      var other = function () { if (selected(code)) { done(); } };
      if (navigator.clipboard && window.isSecureContext) {
        navigator.clipboard.writeText(code.textContent).then(done, other);
      } else {
        other();
      }
    });
  });

  function save(text, name, type) {
    var link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: type }));
    link.download = name;
    link.click();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }

  all("button.save").forEach(function (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      var from = document.getElementById(button.dataset.from);
      save((from.content || from).textContent, button.dataset.name, "text/plain");
    });
  });

  // A cell with an interval becomes three: estimate, low and high.
  function fields(cell) {
    var small = cell.querySelector(".small");
    var plain = function (node) { return node.textContent.replace(/\s+/g, " ").trim(); };
    var whole = function (text) { return /^\d[\d,]*(\.\d+)?$/.test(text) ? text.replace(/,/g, "") : text; };
    if (!small) { return [whole(plain(cell))]; }
    var text = cell.firstChild.textContent.trim().replace(/^\+/, "").replace("–", "");
    var ends = plain(small).replace(/[[\]+]/g, "").split(", ");
    var unit = text.slice(-1) === "%" ? "%" : "";
    return [text].concat([0, 1].map(function (at) { return ends[at] ? ends[at] + unit : ""; }));
  }

  // Headers over several columns are put before those below them.
  function headers(table) {
    var rows = all("thead tr", table), names = [], at = 0;
    all("th", rows[0]).forEach(function (head) {
      for (var n = 0; n < head.colSpan; n += 1) {
        var below = head.colSpan > 1 ? " " + rows[1].children[at].textContent : "";
        if (head.colSpan > 1) { at += 1; }
        names.push(head.textContent + below);
      }
    });
    return names;
  }

  function quoted(text) {
    if (/^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+%?$/.test(text)) { text = "'" + text; }
    return /[",\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }

  function csv(table) {
    var rows = all("tbody tr", table).map(function (row) { return all("th, td", row).map(fields); });
    var wide = headers(table).map(function (name, at) {
      return rows.some(function (row) { return row[at] && row[at].length > 1; });
    });
    var there = headers(table).map(function (name, at) { // pictures are left out
      return rows.some(function (row) { return row[at] && row[at].join(""); });
    });
    var kept = function (cell, at) { return there[at]; };
    var lines = [headers(table).map(function (name, at) {
      return wide[at] ? [name, name + " low", name + " high"] : [name];
    }).filter(kept)].concat(rows.map(function (row) {
      return row.map(function (cell, at) {
        return wide[at] ? cell.concat("", "").slice(0, 3) : cell;
      }).filter(kept);
    }));
    return lines.map(function (line) {
      return [].concat.apply([], line).map(quoted).join(",");
    }).join("\r\n") + "\r\n";
  }

  all(".scroll table").forEach(function (table, at) {
    var button = document.createElement("button");
    var title = table.caption ? table.caption.textContent.trim() : "table";
    button.type = "button";
    button.className = "csv";
    button.textContent = "CSV";
    button.setAttribute("aria-label", "Save as CSV: " + title);
    button.addEventListener("click", function () {
      save("\ufeff" + csv(table), "table-" + (at + 1) + ".csv", "text/csv");
    });
    table.closest(".scroll").after(button);
  });

  // What is folded up would not be printed.
  var opened = [];
  window.addEventListener("beforeprint", function () {
    opened = all("details:not([open])").filter(function (part) { return !part.hidden; });
    opened.forEach(function (part) { part.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (part) { part.open = false; });
  });
})();
