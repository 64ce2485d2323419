// Returns what is wrong with the page as it stands, as a list of lines; none is a sound page.
// arguments: the width of the window, the selector of what holds the text, the least contrast.
const [width, content, contrast] = arguments;
const faults = [];

function named(element) {
  const words = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50);
  const kind = [...element.classList].map((name) => "." + name).join("");
  return `<${element.localName}${kind}> ${words}`;
}

function scrolls(element) {
  return ["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX);
}

function within(element, condition) {
  for (let each = element; each && each !== document.body; each = each.parentElement) {
    if (condition(each)) return true;
  }
  return false;
}

// --- width: the page does not scroll sideways, and nothing is cut off at its edge.
const root = document.documentElement;
if (root.scrollWidth > width) faults.push(`the page is ${root.scrollWidth} wide, not ${width}`);
for (const element of document.querySelectorAll(`${content} *`)) {
  // What is folded keeps the place that it had in a window of another width.
  if (!element.checkVisibility()) continue;
  const box = element.getBoundingClientRect();
  if (box.width > 1 && box.right > width + 1 && !within(element.parentElement, scrolls)) {
    faults.push(`reaches ${Math.round(box.right)}, past the edge: ${named(element)}`);
  }
}

// --- code: on a wide window no line of it is cut.
for (const block of width < 1000 ? [] : document.querySelectorAll(`${content} .highlight code`)) {
  if (!block.checkVisibility()) continue;
  const [has, wants] = [block.clientWidth, block.scrollWidth];
  if (wants > has + 1) faults.push(`code is cut, ${wants} wide in ${has}: ${named(block)}`);
}

// --- pictures
for (const image of document.images) {
  const source = image.getAttribute("src").slice(0, 60);
  if (!image.complete || !image.naturalWidth) faults.push(`picture not loaded: ${source}`);
  if (!image.alt.trim() || image.alt.startsWith("No description")) {
    faults.push(`picture without a description: ${source}`);
  }
}
for (const drawing of document.querySelectorAll("svg[role=img]")) {
  if (!drawing.getAttribute("aria-label")) faults.push("drawing without a description");
}

// --- links within the page, those of formulas and notebooks too
for (const link of document.querySelectorAll(`${content} a[href^="#"]`)) {
  const anchor = decodeURIComponent(link.hash.slice(1));
  if (anchor && !document.getElementById(anchor) && !document.getElementsByName(anchor).length) {
    faults.push(`no place for the link #${anchor}`);
  }
}

// --- formulas
for (const error of document.querySelectorAll(".katex-error")) {
  faults.push(`formula with an error: ${error.title || named(error)}`);
}
for (const formula of document.querySelectorAll(".arithmatex")) {
  if (!formula.querySelector(".katex")) faults.push(`formula not set: ${named(formula)}`);
}

// --- text: no raw formula, enough contrast
function rgba(color) {
  const numbers = color.match(/[\d.]+/g).map(Number);
  return numbers.length < 4 ? [...numbers, 1] : numbers;
}
// Colours that CSS gives in other forms than rgb() are drawn and read back.
const pixel = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
const pen = pixel.getContext("2d", { willReadFrequently: true });
function components(color) {
  if (color.startsWith("rgb")) return rgba(color);
  pen.clearRect(0, 0, 1, 1);
  pen.fillStyle = color;
  pen.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
}
function over(above, below) {
  return [0, 1, 2].map((i) => above[i] * above[3] + below[i] * (1 - above[3])).concat(1);
}
function background(element) {
  const layers = [];
  for (let each = element; each; each = each.parentElement) {
    const layer = components(getComputedStyle(each).backgroundColor);
    if (layer[3]) layers.push(layer);
    if (layer[3] === 1) break;
  }
  const meta = document.querySelector("meta[name=color-scheme]");
  const schemes = `${getComputedStyle(root).colorScheme} ${meta ? meta.content : ""}`;
  const dark = matchMedia("(prefers-color-scheme: dark)").matches && schemes.includes("dark");
  const canvas = dark ? 18 : 255;
  return layers.reverse().reduce((below, each) => over(each, below), [canvas, canvas, canvas, 1]);
}
function luminance(color) {
  const [r, g, b] = color.slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function opacity(element) {
  let product = 1;
  for (let each = element; each; each = each.parentElement) {
    product *= Number(getComputedStyle(each).opacity);
  }
  return product;
}

const seen = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  const words = walker.currentNode.data;
  if (!words.trim() || element.closest("script, style, noscript, template")) continue;
  const isCode = element.closest("code, pre, .katex, .highlight");
  if (!isCode && /\\[()[\]]|\$\$/.test(words)) faults.push(`raw formula: ${words.slice(0, 60)}`);
  if (!element.closest(content) || !element.checkVisibility({ visibilityProperty: true })) continue;
  if (!element.getClientRects().length || element.closest("[aria-hidden=true]")) continue;
  const style = getComputedStyle(element);
  const visible = opacity(element);
  if (!visible) continue; // shown when pointed at
  const behind = background(element);
  const ink = components(element.namespaceURI.endsWith("svg") ? style.fill : style.color);
  const shown = over([...ink.slice(0, 3), ink[3] * visible], behind);
  const [low, high] = [luminance(shown), luminance(behind)].sort((a, b) => a - b);
  const ratio = (high + 0.05) / (low + 0.05);
  const key = `${shown} ${behind}`;
  if (ratio < contrast && !seen.has(key)) {
    seen.add(key);
    faults.push(`contrast ${ratio.toFixed(2)} (${style.color} on ${behind}): ${named(element)}`);
  }
}
return faults;
