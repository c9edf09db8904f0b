// A survey inside a page of your own, as an element:
//
//     <script type="module" src="https://survey.example.org/element.js"></script>
//     <warner-survey collector="https://survey.example.org/" title="Survey"></warner-survey>
//
// The survey runs in a frame of the collector's origin, so scripts of the page around it cannot read
// an answer. The frame sends the page nothing, not even its height, from which an answer that is
// shown could be guessed: it scrolls, and `style` sets its size. The origin of the page stands in
// origins of [collect]; without that the frame stays empty.

const MAY = "allow-scripts allow-same-origin allow-forms allow-popups";

/** `collector` is the address of the survey; `lang` and `code` are as in its links. */
export class WarnerSurvey extends HTMLElement {
  static observedAttributes = ["collector", "lang", "code", "title"];

  attributeChangedCallback() {
    if (this.isConnected) this.connectedCallback();
  }

  connectedCallback() {
    const collector = this.getAttribute("collector");
    const address = collector === null
      ? new URL("./", import.meta.url) : new URL(collector.replace(/\/?$/, "/"), document.baseURI);
    const { lang, title } = this;
    if (lang) address.searchParams.set("lang", lang);
    const code = this.getAttribute("code");
    if (code) address.hash = new URLSearchParams({ code }).toString();
    const frame = document.createElement("iframe");
    frame.title = title || "Survey";
    frame.referrerPolicy = "no-referrer";
    frame.setAttribute("sandbox", MAY);
    frame.setAttribute("style", "border: 0; width: 100%; height: 100%");
    frame.src = address.href;
    const room = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    room.replaceChildren(frame);
  }
}

if (!customElements.get("warner-survey")) customElements.define("warner-survey", WarnerSurvey);
