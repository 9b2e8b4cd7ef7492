// New events on top of an open page. The list is whole at every moment: a connection goes on from the last event that is here.
"use strict";
(() => {
  const list = document.getElementById("events");
  const status = document.getElementById("stream");
  const earlier = document.getElementById("earlier");
  if (!list || !list.dataset.stream || !window.EventSource) return;
  const keep = Number(list.dataset.keep);
  const ends = { 401: "You are signed out. Load the page again to sign in.", 403: "You may not see this any more.", 404: "This project is not there any more.", 409: "The server began anew. Load the page again." };
  let last = list.dataset.after;
  let source = null;
  let timer = 0;
  let pause = 0; // seconds, after a refusal
  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const address = () => list.dataset.stream + "?after=" + encodeURIComponent(last);

  const add = (e) => {
    last = e.lastEventId;
    const first = list.firstElementChild;
    const top = first ? first.getBoundingClientRect().top : 0;
    list.insertAdjacentHTML("afterbegin", e.data); // a template of the server, as on the page
    // Whoever reads further down goes on reading.
    if (first && top < 0) window.scrollBy({ top: first.getBoundingClientRect().top - top, behavior: "instant" });
    while (list.children.length > keep && !list.lastElementChild.contains(document.activeElement)) {
      earlier.href = location.pathname + "?before=" + encodeURIComponent(list.lastElementChild.dataset.id);
      earlier.parentElement.hidden = false;
      list.lastElementChild.remove();
    }
    const nothing = document.getElementById("nothing");
    if (nothing) nothing.remove();
  };

  const close = () => {
    clearTimeout(timer);
    if (source) source.close();
    source = null;
  };
  const open = () => {
    close();
    source = new EventSource(address());
    source.onopen = () => { pause = 0; say("Connected: what happens appears here."); };
    source.onmessage = add;
    source.onerror = () => {
      say("Reconnecting\u2026");
      if (source && source.readyState === EventSource.CLOSED) refused(); // else the browser comes back by itself
    };
  };
  // A browser gives up when it is refused, and does not say why.
  const refused = async () => {
    close();
    pause = Math.min(60, 2 * pause || 2);
    let wait = pause;
    try {
      const answer = await fetch(address(), { method: "HEAD" });
      if (ends[answer.status]) return say(ends[answer.status]);
      wait = Math.max(wait, Number(answer.headers.get("Retry-After")) || 0);
    } catch { /* nobody answers: the same as a cut */ }
    clearTimeout(timer);
    if (!document.hidden) timer = setTimeout(open, 1000 * wait);
  };

  // A page that nobody looks at holds no connection: browsers have few for a host.
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return open();
    close();
    say("Paused while the page is hidden.");
  });
  window.addEventListener("pagehide", close);
  window.addEventListener("pageshow", (e) => { if (e.persisted) open(); });
  if (!document.hidden) open();
})();
