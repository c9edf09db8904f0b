// What is wider than the window scrolls on its own. The keyboard must reach it there.
function reach() {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .text_html, .formula")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

addEventListener("load", reach);
addEventListener("resize", reach);
