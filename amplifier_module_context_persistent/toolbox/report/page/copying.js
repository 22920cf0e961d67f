// Copying a message as text: by its button, or by a key.

/** What a message says: its texts, its thinking, its calls with their results. */
function textOf(place) {
  const said = (bodies[place] || []).map((part, number) => {
    if (part[0] === "i" || part[0] === "s") return "";
    if (part[0] !== "c") return String(part.at(-1));
    const result = resultOf(place, number);
    return [`${part[2]} ${part[3]}`, result < 0 ? "" : textOf(result)].filter(Boolean).join("\n\n");
  });
  return said.filter(Boolean).join("\n\n");
}

async function copyMessage(place) {
  const text = textOf(place);
  if (!text) return say("there is nothing to copy");
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return say("the browser does not let this page copy");
  }
  return say(`${counted(text.length, "character")} copied`);
}

function copyButton(place) {
  const element = button("copy", () => copyMessage(place));
  element.title = "Copy this message";
  element.setAttribute("aria-label", "Copy this message");
  return element;
}
