// Follows the color scheme of the window, and shows the operations of the first group; the other groups open on a click.
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", follow);
follow();

// Plain text in the place of links inside buttons, which readers of screens do not reach; the button opens the same.
const plainly = ({ React }) => ({
  components: { DeepLink: ({ text }) => React.createElement("span", null, text) },
});

const ui = SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
  plugins: [plainly],
  onComplete: () => {
    // Its label is empty.
    document.querySelector(".servers select")?.setAttribute("aria-label", "Server");
    const first = ui.specSelectors.taggedOperations().keySeq().first();
    if (first && !window.location.hash) {
      ui.layoutActions.show(["operations-tag", first], true);
    }
  },
});
