/** A chart of the page as a document of its own, with its styles and its ground. */
import { chartStyles, type Theme } from '../chart/theme.ts'

/** `auto` follows the reader's `prefers-color-scheme`. */
export type PictureTheme = Theme

/** What the page adds to the styles of charts. */
const pageRules = [
  '.jobchart .jc-count.zero{opacity:.35}',
  '.jobchart .jc-timer>rect{fill:var(--jc-waiting-fill);stroke:var(--jc-waiting-border);stroke-width:1px}',
  '.jobchart .jc-timer>text{fill:var(--jc-waiting-ink);font-size:10.5px;font-weight:600;text-anchor:middle}',
]

interface Ground {
  readonly theme: PictureTheme
  readonly width: number
  readonly height: number
}

/** @param svg as it is serialized: without styles */
export function pictureDocument(svg: string, { theme, width, height }: Ground): string {
  const rules = [chartStyles(theme), ...pageRules].join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const ground = `<rect class="jc-canvas" width="${width}" height="${height}"/>`
  return svg.replace(/^<svg[^>]*>/, (start) => `${start}<style>${rules}</style>${ground}`)
}
