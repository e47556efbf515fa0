// Names what the theme leaves without a name: boxes that scroll, and the buttons of each block of code.
const settle = () => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach((box) => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  document.querySelectorAll(".md-code__nav").forEach((buttons, place) => {
    buttons.setAttribute("aria-label", `Code block ${place + 1}`);
  });
};
// Pages in Korean say so, for who reads them aloud and for where lines break.
const speak = () => {
  if (location.pathname.endsWith(".ko.html")) document.querySelector("article")?.setAttribute("lang", "ko");
};
const changes = new MutationObserver(settle);
addEventListener("DOMContentLoaded", () => {
  changes.observe(document.body, { childList: true, subtree: true });
  settle();
  speak();
});
addEventListener("resize", settle);
