// Draws the point of the frontier that the reader chooses. All numbers and words are in the page;
// names in them become text nodes, whatever they hold.
(function () {
  "use strict";
  var all = function (query, root) {
    return Array.prototype.slice.call((root || document).querySelectorAll(query));
  };

  var place = document.getElementById("panel");
  var page = place ? JSON.parse(document.getElementById("numbers").textContent) : null;
  var marks = all("#points [data-point]");
  var links = all("table [data-point]");
  var slider = document.getElementById("bound");
  var compare = document.getElementById("compare");
  var reference = document.getElementById("reference");
  var every = document.getElementById("every");
  var showsEvery = false;
  var folds = {}; // whether the reader opened what is folded up, by its summary

  function pointOf(key) {
    return page ? page.points.filter(function (point) { return point.key === key; })[0] : undefined;
  }

  // Elements. A child is a text, an element, or a list of them; nothing is read as HTML.
  var DRAWN = ["svg", "g", "line", "rect", "circle", "text"];

  function make(tag, attributes, children) {
    var node = DRAWN.indexOf(tag) < 0 ? document.createElement(tag)
      : document.createElementNS("http://www.w3.org/2000/svg", tag);
    Object.keys(attributes).forEach(function (name) {
      if (attributes[name] !== undefined) { node.setAttribute(name, attributes[name]); }
    });
    put(node, children);
    return node;
  }

  function put(node, child) {
    if (Array.isArray(child)) {
      child.forEach(function (part) { put(node, part); });
    } else if (child !== undefined && child !== null) {
      node.appendChild(typeof child === "object" ? child : document.createTextNode(child));
    }
  }

  function name(text) { return make("bdi", {}, text); }

  // Every second part of a text is a name.
  function words(text) {
    return typeof text === "string" ? text
      : text.map(function (part, at) { return at % 2 ? name(part) : part; });
  }

  // A share in percent, rounded as the sentences are: a tie goes to the even digit.
  function percent(share) {
    var exact = (100 * share).toFixed(20).replace(/0+$/, "");
    var tie = /\.\d5$/.test(exact) && /[02468]5$/.test(exact);
    return (tie ? exact.slice(0, -1) : (100 * share).toFixed(1)) + "%";
  }

  function ends(value) {
    return value.length < 3 ? ""
      : "[" + (100 * value[1]).toFixed(1) + ", " + (100 * value[2]).toFixed(1) + "]";
  }

  // Blocks, see panel.py; panel.html.j2 draws the same.
  function blocks(list, here, other) {
    return list.map(function (block) {
      var kind = Object.keys(KINDS).filter(function (key) { return key in block; })[0];
      return KINDS[kind](block, here, other);
    });
  }

  var KINDS = {
    tiles: function (block, here, other) {
      return make("dl", { "class": "tiles" }, block.tiles.map(function (tile) {
        return tileOf(tile, other);
      }));
    },
    heading: function (block) { return make("h4", {}, words(block.heading)); },
    text: function (block) {
      return make("p", { "class": block.small ? "small" : undefined }, words(block.text));
    },
    code: function (block) {
      return make("div", { "class": "code" }, [
        make("span", { "class": "small" }, block.title),
        make("pre", { tabindex: "0" }, make("code", {}, block.code)),
        make("button", { type: "button", "class": "copy", "aria-label": "Copy: " + block.title }, "Copy")
      ]);
    },
    fold: function (block, here, other) {
      var fold = make("details", {}, [
        make("summary", {}, words(block.fold)), blocks(block.blocks, here, other)
      ]);
      var summary = fold.firstChild.textContent;
      fold.open = summary in folds ? folds[summary] : Boolean(block.open);
      return fold;
    },
    columns: function (block, here, other) {
      var lists = block.columns.filter(function (list) { return list.length; });
      return make("div", { "class": "inside" }, lists.map(function (list) {
        return make("div", {}, blocks(list, here, other));
      }));
    },
    pre: function (block) { return scrolled(block.title, make("pre", {}, block.pre)); },
    table: function (block) {
      var head = block.head.map(function (row) { return make("tr", {}, row.map(headCell)); });
      var places = shown(block.first, block.rows.map(function (row) { return row[0]; }));
      var rows = places.map(function (at) { return make("tr", {}, block.rows[at].map(bodyCell)); });
      return table(block.table + firstOnly(places, block.rows), head, rows);
    },
    rates: ratesOf,
    tracks: tracksOf
  };

  function tileOf(tile, other) {
    var lines = tile.lines.map(function (line) { return make("span", { "class": "small" }, words(line)); });
    var same = !other || !tile.measured ? [] : other.blocks[0].tiles.filter(function (their) {
      return their.title === tile.title;
    });
    var beside = same.map(function (their) {
      var value = make("span", { "class": "beside" }, their.value);
      return make("span", { "class": "small" }, [nameOf(other) + " ", value]);
    });
    return make("div", { "class": "tile" }, [
      make("dt", {}, tile.title), make("dd", {}, [make("strong", {}, tile.value), lines, beside])
    ]);
  }

  function nameOf(other) { return other.key === "free" ? "without the constraint" : other.name; }

  // The rows that are shown: all, or the first, and that of the reference group.
  function shown(first, names) {
    return names.map(function (text, at) { return at; }).filter(function (at) {
      return showsEvery || !first || first.indexOf(at) >= 0 || isReference(names[at]);
    });
  }

  function isReference(number) {
    return Boolean(reference && reference.value) && page.names[number] === reference.value;
  }

  function firstOnly(places, rows) {
    return places.length === rows.length ? ""
      : "; " + places.length.toLocaleString("en-US") + " of " +
        rows.length.toLocaleString("en-US") + " lines";
  }

  function scrolled(title, child) {
    return make("div", { "class": "scroll", role: "region", "aria-label": title, tabindex: "0" }, child);
  }

  function table(caption, head, rows, kind) {
    return scrolled(caption, make("table", { "class": kind }, [
      make("caption", {}, make("span", {}, caption)), make("thead", {}, head), make("tbody", {}, rows)
    ]));
  }

  function headCell(cell) {
    if (typeof cell === "string" || Array.isArray(cell)) {
      return make("th", { scope: "col" }, words(cell));
    }
    var scope = cell.cols ? "colgroup" : "col";
    return make("th", { scope: scope, rowspan: cell.rows, colspan: cell.cols }, words(cell.text));
  }

  function bodyCell(cell) {
    if (typeof cell === "string") { return make("td", {}, cell); }
    if (typeof cell === "number") { return make("th", { scope: "row" }, name(page.names[cell])); }
    if ("range" in cell) {
      return make("td", {}, [cell.range[0] + " ", make("span", { "class": "small" }, cell.range[1])]);
    }
    if ("name" in cell) { return make("th", { scope: "row" }, name(cell.name)); }
    if ("words" in cell) { return make("td", { "class": "words" }, name(cell.words)); }
    if ("cell" in cell) { return make("td", { rowspan: cell.rows }, cell.cell); }
    if ("inner" in cell) { return make("th", { scope: "row", "class": "inner" }, name(cell.inner)); }
    if ("group" in cell) {
      return make("th", { scope: "rowgroup", rowspan: cell.rows }, name(page.names[cell.group]));
    }
    var bar = function (x, width, kind) {
      return make("rect", { x: x, y: 3, width: width, height: 10, "class": kind });
    };
    if ("share" in cell) {
      return make("td", {}, make("svg", { width: 80, height: 10, "class": "weight", "aria-hidden": "true" },
        make("rect", { width: cell.share + "%", height: 10 })));
    }
    return make("td", {}, make("svg", { width: 160, height: 16, "class": "balance", "aria-hidden": "true" }, [
      make("line", { x1: 80, x2: 80, y1: 0, y2: 16, "class": "grid" }),
      bar(80 - cell.balance[0], cell.balance[0], "lost"), bar(80, cell.balance[1], "gained")
    ]));
  }

  function rateAt(rates, rate, at) { return rates[rate] ? rates[rate][at] : []; }

  function rateCell(value, kind) {
    var text = value.length ? make("data", { value: value[0] }, percent(value[0])) : "–";
    return make("td", { "class": kind }, [text, " ", make("span", { "class": "small" }, ends(value))]);
  }

  // Rates of groups; where another classifier has them, its rates stand beside.
  function ratesOf(block, here, other) {
    var groups = page.groups[block.data], own = here.rates[block.data];
    var theirs = other ? other.rates[block.data] : undefined;
    var high = theirs ? 2 : undefined;
    var titles = block.rates.map(function (rate) { return page.rates[rate] || ["", ""]; });
    var head = [make("th", { scope: "col", rowspan: high }, "Group"),
      make("th", { scope: "col", rowspan: high }, "People")];
    var below = [];
    block.rates.forEach(function (rate, at) {
      if (!theirs || groups.base[rate]) {
        head.push(make("th", { scope: "col", title: titles[at][1], rowspan: high }, titles[at][0]));
        return;
      }
      head.push(make("th", { scope: "colgroup", colspan: 2, title: titles[at][1] }, titles[at][0]));
      var without = other.key === "free" ? "without" : other.name;
      below.push(make("th", { scope: "col", "class": "free" }, without));
      below.push(make("th", { scope: "col", "class": "fair" }, "within"));
    });
    var places = shown(groups.first, groups.names);
    var rows = places.map(function (at) {
      var people = groups.people[at];
      var cells = [make("th", { scope: "row" }, name(page.names[groups.names[at]])),
        make("td", {}, people.toLocaleString("en-US"))];
      block.rates.forEach(function (rate) {
        if (groups.base[rate]) {
          cells.push(rateCell(groups.base[rate][at]));
          return;
        }
        if (theirs) { cells.push(rateCell(rateAt(theirs, rate, at), "free")); }
        cells.push(rateCell(rateAt(own, rate, at), "fair"));
      });
      return make("tr", {}, cells);
    });
    var heads = [make("tr", {}, head)].concat(theirs ? [make("tr", {}, below)] : []);
    var meanings = titles.map(function (title, at) {
      return (at ? title[0].toLowerCase() : title[0]) + ": " + title[1];
    });
    return [table(block.caption + firstOnly(places, groups.names), heads, rows, "rates"),
      make("p", { "class": "small" }, meanings.join("; ") + ".")];
  }

  // Rates as marks on lines: a block for each rate on its axis, a line for each group.
  function tracksOf(block, here, other) {
    var groups = page.groups[block.data];
    if (!groups.axes) { return []; }
    var theirs = other ? other.rates[block.data] : undefined;
    var data = block.data.charAt(0).toUpperCase() + block.data.slice(1);
    var legend = data + " data. " + (theirs ? "Filled: " + here.title.toLowerCase() + "; hollow: " +
      nameOf(other) + "; lines: intervals." : "Lines: intervals.");
    var description = "Rates of groups on " + block.data + " data; the numbers are in the table below.";
    return [make("p", { "class": "small" }, legend),
      make("div", { "class": "tracks", role: "img", "aria-label": description },
        block.tracks.map(function (rate) { return trackBlock(groups, rate, here.rates[block.data], theirs); }))];
  }

  function trackBlock(groups, rate, own, theirs) {
    var title = page.rates[rate] || ["", ""], low = groups.axes[rate][0], high = groups.axes[rate][1];
    var ticks = groups.axes[rate][2];
    var at = function (value) {
      var inside = Math.min(Math.max(value, low), high);
      return Math.round(1000 * (inside - low) / (high - low)) / 10 + "%";
    };
    var mark = function (kind, y, value) {
      var parts = !value.length ? [] : [make("circle", { cx: at(value[0]), r: 5, "class": "mark" })];
      if (value.length === 3) {
        parts.unshift(make("line", { x1: at(value[1]), x2: at(value[2]), "class": "bar" }));
      }
      return make("g", { "class": kind, transform: "translate(0 " + y + ")" }, parts);
    };
    var text = function (value) { return value.length ? percent(value[0]) : "–"; };
    var lines = groups.names.map(function (number, n) {
      var mine = groups.base[rate] ? groups.base[rate][n] : rateAt(own, rate, n);
      var their = theirs ? rateAt(theirs, rate, n) : null;
      var grid = ticks.map(function (tick) {
        return make("line", { x1: at(tick), x2: at(tick), y1: 0, y2: 30, "class": "grid" });
      });
      return make("div", { "class": "line" }, [
        make("span", { "class": "group" }, name(page.names[number])),
        make("div", { "class": "track" }, make("svg", { width: "100%", height: 30 }, [
          grid, their ? mark("free", 10, their) : [], mark("fair", their ? 20 : 15, mine)
        ])),
        make("span", { "class": "value" }, [
          their ? make("span", { "class": "free" }, text(their)) : [],
          make("span", { "class": "own" }, text(mine))
        ])
      ]);
    });
    var scale = ticks.map(function (tick) {
      var label = Number((100 * tick).toPrecision(6)) + "%";
      return make("text", { x: at(tick), y: 13, "text-anchor": "middle" }, label);
    });
    return make("div", { "class": "block" }, [
      make("p", { "class": "rate", title: title[1] }, title[0]), lines,
      make("div", { "class": "line scale" }, [
        make("span", {}), make("svg", { width: "100%", height: 18 }, scale), make("span", {})
      ])
    ]);
  }

  function draw(key) {
    var here = pointOf(key), other = key === "free" ? undefined : pointOf(compare ? compare.value : "free");
    all("details", place).forEach(function (fold) {
      folds[fold.querySelector("summary").textContent] = fold.open;
    });
    place.dataset.panel = key;
    document.getElementById("panel-title").textContent = here.title;
    var old = document.getElementById("blocks");
    var drawn = make("div", { id: "blocks" }, blocks(here.blocks, here, other));
    old.parentNode.replaceChild(drawn, old);
    refer();
    addButtons(drawn);
  }

  function choose(key, told) {
    var here = pointOf(key);
    if (!here) { return; }
    draw(key);
    if (told) { document.getElementById("announced").textContent = here.summary; }
    marks.forEach(function (mark) {
      var chosen = mark.dataset.point === key;
      mark.classList.toggle("chosen", chosen);
      mark.setAttribute("tabindex", chosen ? "0" : "-1"); // one stop for Tab, arrows between points
      if (chosen) {
        mark.setAttribute("aria-current", "true");
      } else {
        mark.removeAttribute("aria-current");
      }
    });
    links.forEach(function (link) {
      link.closest("tr").classList.toggle("chosen", link.dataset.point === key);
    });
    if (slider) {
      slider.value = slider.dataset.keys.split(" ").indexOf(key);
      slider.setAttribute("aria-valuetext", here.title);
      document.getElementById("bound-shown").textContent =
        links.filter(function (link) { return link.dataset.point === key; })
          .map(function (link) { return link.textContent; })[0] || here.title;
    }
    if (told) { history.replaceState(null, "", "#point-" + key); }
  }

  // Differences from, and ratios to, the rates of one group.
  function share(cell) {
    var exact = cell.querySelector("data");
    return exact ? parseFloat(exact.value) : NaN;
  }

  function refer() {
    all(".against").forEach(function (old) { old.remove(); });
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
    return found && pointOf(found[1]) ? found[1] : null;
  }

  function showPanel() {
    (document.getElementById("frontier") || place).scrollIntoView();
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
      document.getElementById("panel-title").focus({ preventScroll: true });
      showPanel();
    });
  });

  if (slider) {
    slider.closest("p").hidden = false;
    slider.addEventListener("input", function () {
      choose(slider.dataset.keys.split(" ")[slider.valueAsNumber], true);
    });
  }

  all(".compare, .choose").forEach(function (line) { line.hidden = false; });
  [[compare, "Compared with "], [reference, "Reference group: "]].forEach(function (pair) {
    if (!pair[0]) { return; }
    pair[0].addEventListener("change", function () {
      if (place) { draw(place.dataset.panel); } else { refer(); }
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

  function addCopying(button) {
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
  }

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

  function addSaving(table) {
    var button = document.createElement("button");
    var title = table.caption ? table.caption.textContent.trim() : "table";
    button.type = "button";
    button.className = "csv";
    button.textContent = "CSV";
    button.setAttribute("aria-label", "Save as CSV: " + title);
    button.addEventListener("click", function () {
      var number = all(".scroll table").indexOf(table) + 1;
      save("\ufeff" + csv(table), "table-" + number + ".csv", "text/csv");
    });
    table.closest(".scroll").after(button);
  }

  function addButtons(root) {
    all("button.copy", root).forEach(addCopying);
    all(".scroll table", root).forEach(addSaving);
  }

  // What is folded up would not be printed.
  var opened = [];
  window.addEventListener("beforeprint", function () {
    opened = all("details:not([open])").filter(function (part) { return !part.hidden; });
    opened.forEach(function (part) { part.open = true; });
  });
  window.addEventListener("afterprint", function () {
    opened.forEach(function (part) { part.open = false; });
  });

  if (every) {
    every.addEventListener("click", function () {
      showsEvery = true;
      every.hidden = true;
      draw(place.dataset.panel);
    });
  }

  // Buttons of what is drawn come with the drawing; the others are added here.
  addButtons(document);
  if (place) {
    links.forEach(function (link) { link.closest("tr").removeAttribute("id"); }); // the panel answers
    choose(fromAddress() || place.dataset.panel, false);
    if (fromAddress()) { showPanel(); }
    window.addEventListener("hashchange", function () {
      if (fromAddress()) {
        choose(fromAddress(), true);
        showPanel();
      }
    });
  }
})();
