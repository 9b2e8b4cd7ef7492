// What pages do beyond links and forms. Without it they work all the same.
"use strict";
document.addEventListener("change", (e) => {
  if (e.target.matches("[data-submit]")) e.target.form.submit();
});
document.addEventListener("click", (e) => {
  const copy = e.target.closest(".copy");
  if (copy && navigator.clipboard) navigator.clipboard.writeText(copy.textContent).then(() => {
    copy.classList.add("copied");
    setTimeout(() => copy.classList.remove("copied"), 1200);
  });
});
