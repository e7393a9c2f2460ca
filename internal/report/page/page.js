// Everything is readable without this script: it filters, sorts and switches.
(() => {
  const $ = (s, e = document) => e.querySelector(s), $$ = (s, e = document) => [...e.querySelectorAll(s)];
  const root = document.documentElement, find = $("#find"), table = $(".matrix"), rows = $$("tr[data-name]", table);
  const rank = ["works", "partial", "should-work", "should-work-partly", "fails", "unknown", "unavailable", "not-run"];

  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = $$("input[name=verdict]:checked").map(b => b.value);
    for (const r of rows) {
      const has = r.dataset.verdicts.split(" ");
      r.hidden = !(words.every(w => r.dataset.find.includes(w)) && (!wanted.length || wanted.some(v => has.includes(v))));
    }
    for (const g of $$("tbody", table)) g.hidden = !$("tr[data-name]:not([hidden])", g);
    $(".nothing").hidden = rows.some(r => !r.hidden);
  };

  // A cell's place: by the number that is shown, then by verdict. Only
  // rows of one family change places, so that the groups stay whole.
  const key = (row, column) => {
    const sq = row.cells[column + 1].firstElementChild, n = parseFloat(sq.dataset[root.dataset.metric]);
    return [isNaN(n) ? Infinity : n, rank.findIndex(v => sq.classList.contains(v))];
  };
  const sort = (head, by) => {
    const back = head.getAttribute("aria-sort") === "ascending";
    $$("[aria-sort]", table).forEach(h => h.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", back ? "descending" : "ascending");
    const compare = by === "name"
      ? (a, b) => a.dataset.name.localeCompare(b.dataset.name)
      : (a, b) => { const x = key(a, +by), y = key(b, +by); return (x[0] === y[0] ? 0 : x[0] - y[0]) || x[1] - y[1]; };
    for (const g of $$("tbody", table)) {
      const list = $$("tr[data-name]", g).sort(compare);
      g.append(...(back ? list.reverse() : list));
    }
  };

  const closeAll = but => $$("details.sq[open]").forEach(d => { if (d !== but) d.open = false; });
  find.addEventListener("input", filter);
  $$("input[name=verdict]").forEach(b => b.addEventListener("change", filter));
  $$("input[name=metric]").forEach(b => b.addEventListener("change", () => { root.dataset.metric = b.value; }));
  $$("[data-sort]").forEach(b => b.addEventListener("click", () => sort(b.parentElement, b.dataset.sort)));
  $("#clear").addEventListener("click", () => { find.value = ""; $$("input[name=verdict]").forEach(b => { b.checked = false; }); filter(); });
  document.addEventListener("toggle", e => { if (e.target.matches("details.sq") && e.target.open) closeAll(e.target); }, true);
  document.addEventListener("keydown", e => { if (e.key === "Escape") closeAll(); });
  document.addEventListener("click", e => {
    if (e.target.matches(".close")) { const d = e.target.closest("details"); d.open = false; $("summary", d).focus(); }
    else if (!e.target.closest("details.sq")) closeAll();
  });
})();
