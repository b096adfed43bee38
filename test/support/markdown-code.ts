/** The code that a Markdown text shows. */
export interface CodeBlock {
  /** The line of the text on which the code starts. */
  line: number
  code: string
  /** False for a block marked `ts no-run`: it is checked, but would not end by itself. */
  runs: boolean
}

export function tsBlocks(markdown: string): CodeBlock[] {
  return [...markdown.matchAll(/^```ts(?<mark> no-run)?\n(?<code>.*?)^```$/gms)].map(({ index, groups }) => ({
    line: markdown.slice(0, index).split('\n').length + 1,
    code: groups?.['code'] ?? '',
    runs: groups?.['mark'] === undefined,
  }))
}

/** The JavaScript that a Markdown text shows: pieces of programs, which a test runs. */
export const jsBlocks = (markdown: string): string[] =>
  Array.from(markdown.matchAll(/^```js\n(.*?)^```$/gms), ([, code]) => code ?? '')

/** How many blocks look like TypeScript, however they are marked: none may escape `tsBlocks`. */
export const fenceCount = (markdown: string): number =>
  [...markdown.matchAll(/^\s*(```|~~~)\s*(ts|typescript)\b/gim)].length
