/** JSON as it is written: a whole number that no number of JavaScript is equal to becomes the text that it was. */
export function readExactly(text: string): unknown {
  return JSON.parse(MAY_BE_ROUNDED.test(text) ? text.replace(TEXT_OR_NUMBER, exact) : text);
}

const MAY_BE_ROUNDED = /\d{16}/;
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function exact(written: string): string {
  return /^-?\d{16,}$/.test(written) && String(Number(written)) !== written ? `"${written}"` : written;
}
