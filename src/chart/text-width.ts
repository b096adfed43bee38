/**
 * The width of text without a browser. The tables hold the mean advance of Inter, Roboto, Liberation Sans and Noto
 * Sans, in hundredths of the font size. Every text of a picture says its width (`textLength`), so that a font that
 * differs is fitted to it and the picture is the same everywhere.
 */

/** U+0020 to U+007E, then U+00A0 to U+00FF. */
const regular = [
  27, 27, 37, 61, 58, 82, 67, 20, 33, 34, 47, 60, 26, 35, 27, 35, 58, 54, 57, 58, 58, 57, 58, 57, 58, 58, 27, 26, 58,
  59, 58, 49, 94, 66, 65, 68, 71, 60, 57, 73, 73, 29, 47, 64, 55, 88, 74, 75, 63, 75, 65, 61, 60, 71, 64, 93, 63, 62,
  60, 31, 35, 31, 48, 48, 36, 56, 59, 52, 59, 56, 33, 59, 58, 24, 24, 52, 24, 88, 58, 58, 59, 59, 36, 50, 33, 58, 51,
  77, 52, 51, 50, 35, 35, 35, 62, 27, 28, 56, 59, 64, 55, 33, 56, 48, 82, 41, 52, 56, 0, 76, 49, 41, 58, 37, 37, 36, 60,
  57, 28, 27, 34, 41, 52, 80, 83, 84, 51, 66, 66, 66, 66, 66, 66, 95, 68, 60, 60, 60, 60, 29, 29, 29, 29, 71, 74, 75,
  75, 75, 75, 75, 59, 75, 71, 71, 71, 71, 62, 62, 61, 56, 56, 56, 56, 56, 56, 88, 52, 56, 56, 56, 56, 26, 26, 26, 26,
  58, 58, 58, 58, 58, 58, 58, 59, 59, 58, 58, 58, 58, 51, 59, 51,
]

const bold = [
  26, 30, 42, 61, 59, 84, 70, 22, 35, 35, 48, 59, 28, 38, 29, 36, 59, 55, 58, 59, 59, 58, 59, 57, 59, 59, 30, 29, 58,
  60, 59, 53, 94, 70, 67, 69, 71, 60, 57, 73, 73, 31, 50, 67, 57, 89, 75, 76, 65, 76, 67, 62, 62, 72, 67, 95, 67, 65,
  61, 33, 37, 33, 52, 47, 38, 57, 61, 54, 61, 57, 36, 61, 61, 28, 28, 57, 28, 91, 61, 60, 61, 61, 40, 53, 37, 61, 55,
  80, 55, 55, 51, 38, 36, 38, 62, 26, 30, 57, 60, 64, 56, 35, 56, 49, 82, 42, 57, 57, 0, 75, 52, 42, 58, 38, 38, 38, 63,
  58, 30, 29, 35, 42, 57, 82, 85, 86, 53, 70, 70, 70, 70, 70, 70, 98, 69, 60, 60, 60, 60, 31, 31, 31, 31, 71, 75, 76,
  76, 76, 76, 76, 59, 76, 72, 72, 72, 72, 65, 64, 65, 57, 57, 57, 57, 57, 57, 89, 54, 57, 57, 57, 57, 28, 28, 28, 28,
  60, 61, 60, 60, 60, 60, 60, 59, 60, 61, 61, 61, 61, 55, 61, 55,
]

export type Weight = 'regular' | 'bold'

/** Characters that take no room of their own: joiners, variation selectors and combining marks. */
const weightless = /\p{Mark}|\p{Cf}/u
/** Characters as wide as they are high: Chinese, Japanese, Korean and full-width forms. */
const wide = /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\u{20000}-\u{3fffd}]/u
/** An emoji, which may consist of many characters that are drawn as one. */
const emoji = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u
const emojiWidth = 125
/** What a terminal draws as an emoji, in two columns; other ones are as narrow as a letter there. */
const emojiInTerminal = /\p{Emoji_Presentation}|\ufe0f/u
const ascii = /^[ -~]*$/
const other = 62
/** Text of which the table knows every character. */
const known = /^[ -~\u00a0-\u00ff…—]*$/

function advance(character: string, table: readonly number[]): number {
  const code = character.codePointAt(0) ?? 0
  if (code >= 0x20 && code <= 0x7e) return table[code - 0x20] ?? other
  if (code >= 0xa0 && code <= 0xff) return table[code - 0xa0 + 95] ?? other
  if (weightless.test(character)) return 0
  if (character === '…' || character === '—') return 90
  return wide.test(character) ? 104 : other
}

/** The width of a text in px, rounded up to a tenth. */
export function textWidth(text: string, size: number, weight: Weight = 'regular'): number {
  const table = weight === 'bold' ? bold : regular
  let hundredths = 0
  if (hasKnownWidth(text)) for (const character of text) hundredths += advance(character, table)
  else for (const segment of segmentsOf(text)) hundredths += segmentAdvance(segment, table)
  return Math.ceil((hundredths * size) / 10) / 10
}

/** Is its width that of the common fonts? Of other text it is an estimate. */
export const hasKnownWidth = (text: string): boolean => known.test(text)

/** Browsers of 2023 have no segmenter: there a character of several code points is as wide as all of them. */
const segmenter = 'Segmenter' in Intl ? new Intl.Segmenter('en') : null

/** The characters of a text as people count them. */
export const segmentsOf = (text: string): Iterable<string> =>
  segmenter === null ? text : Array.from(segmenter.segment(text), ({ segment }) => segment)

function segmentAdvance(segment: string, table: readonly number[]): number {
  if (emoji.test(segment)) return emojiWidth
  let sum = 0
  for (const character of segment) sum += advance(character, table)
  return sum
}

/** The text, cut with an ellipsis if it is wider than `width` px. */
export function fitText(text: string, size: number, width: number, weight: Weight = 'regular'): string {
  if (textWidth(text, size, weight) <= width) return text
  const room = width - textWidth('…', size, weight)
  const table = weight === 'bold' ? bold : regular
  let kept = ''
  let used = 0
  for (const segment of segmentsOf(text)) {
    used += (segmentAdvance(segment, table) * size) / 100
    if (used > room) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** How many columns a text takes in a terminal: none, one or two for each character. */
export function textColumns(text: string): number {
  if (ascii.test(text)) return text.length
  let columns = 0
  for (const segment of segmentsOf(text)) {
    if (emojiInTerminal.test(segment)) columns += 2
    else for (const character of segment) columns += weightless.test(character) ? 0 : wide.test(character) ? 2 : 1
  }
  return columns
}
