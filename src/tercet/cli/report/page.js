"use strict";

// A click on a header sorts by it; a second click turns the order round.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  for (const button of table.querySelectorAll("button.sort")) {
    button.addEventListener("click", () => {
      const head = button.closest("th");
      const column = heads.indexOf(head);
      // Ranks, names, times and p-values begin with the least; scores with the greatest.
      const first = head.dataset.first || "ascending";
      const other = first === "ascending" ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") === first ? other : first;
      const sign = order === "ascending" ? 1 : -1;
      const rows = [...body.rows].map((row) => [row.cells[column].dataset.value, row]);
      rows.sort(([a], [b]) => {
        if (a === b) return 0;
        if (a === "" || b === "") return a === "" ? 1 : -1; // what has no value comes last either way
        const difference = Number(a) - Number(b);
        return sign * (Number.isNaN(difference) ? a.localeCompare(b) : difference);
      });
      for (const [, row] of rows) body.append(row);
      for (const each of heads) if (each.hasAttribute("aria-sort")) each.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", order);
    });
  }
}

// A link to a folded method opens it.
const unfold = () => {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", unfold);
unfold();

// Paper has nothing to click on: print everything open, and fold it again afterwards.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const each of folded) each.open = true;
});
addEventListener("afterprint", () => {
  for (const each of folded) each.open = false;
});

// The contents show where the reader is: the last section that has passed the top third of the window.
const links = [...document.querySelectorAll("nav li a")];
const sections = links.map((link) => document.querySelector(link.getAttribute("href")));
const mark = () => {
  let here = 0;
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
  sections.forEach((section, k) => {
    if (section.getBoundingClientRect().top < innerHeight / 3) here = k;
  });
  if (atEnd && scrollY > 0) here = sections.length - 1;
  links.forEach((link, k) => {
    if (k === here) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  });
};
addEventListener("scroll", mark, { passive: true });
addEventListener("resize", mark, { passive: true });
mark();
