// Keys of the review queue: each presses a button that is on the page.
"use strict";
(() => {
  document.documentElement.dataset.keys = "on"; // the page tells of keys only where they work
  const items = () => [...document.querySelectorAll("[data-item]")];
  const current = () => document.activeElement.closest("[data-item]") || document.querySelector("[data-current]") || items()[0];
  let busy = false; // a decision is on its way: no key may make a second one
  const go = (step) => {
    const all = items();
    if (!all.length) return;
    const here = all.indexOf(document.activeElement.closest("[data-item]"));
    const to = all[here < 0 ? 0 : Math.min(all.length - 1, Math.max(0, here + step))];
    document.querySelectorAll("[data-current]").forEach((e) => e.removeAttribute("data-current"));
    to.setAttribute("data-current", "");
    to.focus();
    to.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (e) => {
    const typing = e.target.matches("input:not([type=checkbox]), textarea, select");
    if (e.key === "Escape" && typing) {
      const item = e.target.closest("[data-item]");
      e.target.blur();
      if (item) item.focus();
      return;
    }
    if (typing || e.ctrlKey || e.metaKey || e.altKey || e.repeat) return;
    if (e.key === "j" || e.key === "k") return go(e.key === "j" ? 1 : -1);
    if (e.key === "?") {
      const keys = document.getElementById("keys");
      keys.open = !keys.open;
      return;
    }
    const item = current();
    if (e.key === "o" && item) {
      const link = item.querySelector("[data-open]");
      if (link) link.click();
      return;
    }
    const button = e.key === "u" ? document.querySelector(".done [data-key=u]") : item && /^[a-z]$/.test(e.key) && item.querySelector(`[data-key=${e.key}]`);
    if (!button || busy) return;
    e.preventDefault();
    if (e.key === "e") {
      const edit = button.closest("details");
      edit.open = true;
      edit.querySelector("textarea").focus();
      return;
    }
    busy = true;
    button.click();
  });
  // A form that the browser holds back, or a page that comes back from its cache, can be used again.
  document.addEventListener("invalid", () => { busy = false; }, true);
  window.addEventListener("pageshow", () => {
    busy = false;
    const item = document.querySelector("[data-current]");
    if (item) item.focus({ preventScroll: item === items()[0] });
  });
})();
