/**
 * Names of states and events are anything a person writes: each format gets them in a form that it cannot mistake for
 * its own.
 */

// eslint-disable-next-line no-control-regex -- what XML 1.0 cannot hold
const notInXml = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text as XML holds it, in elements and in attributes. */
export const xml = (text: string): string =>
  text
    .toWellFormed()
    .replace(notInXml, '\ufffd')
    .replace(/[&<>"']/g, (character) => entities[character] ?? character)

const mermaidSafe = /[^\p{Letter}\p{Number} _.,()[\]/+=!?*'…→-]/gu

/** Text as a label of Mermaid: all but letters, digits and harmless signs as `#code;`. */
export const mermaidText = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(mermaidSafe, (character) => `#${character.codePointAt(0)};`)

/** Text as a quoted string of DOT. */
export const dotString = (text: string): string =>
  `"${text.toWellFormed().replace(notInXml, '\ufffd').replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('&', '&amp;').replaceAll('\n', '\\n')}"`
