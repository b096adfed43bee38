/**
 * The terminal: a block of lines that is redrawn in place, and lines above it that stay. The cursor stays visible: a
 * process that is killed could not bring it back.
 */
import type { WriteStream } from 'node:tty'
import { stripVTControlCharacters, styleText } from 'node:util'

const clearBelow = '\x1b[J'
const clearLine = '\x1b[K'

export class Screen {
  private readonly stream: WriteStream
  /** The widths of the lines that were drawn last. */
  private drawn: readonly number[] = []

  constructor(stream: WriteStream) {
    this.stream = stream
  }

  /** Can it redraw, or only go on line by line? */
  get isLive(): boolean {
    return this.stream.isTTY
  }

  get columns(): number {
    return this.stream.columns ?? 80
  }

  get rows(): number {
    return this.stream.rows ?? 24
  }

  paint(style: Parameters<typeof styleText>[0], text: string): string {
    return styleText(style, text, { stream: this.stream })
  }

  /**
   * Shows the block in the place of the one before. What does not fit is left out: a line that wraps is not redrawn.
   */
  draw(block: readonly string[]): void {
    const fitting = block.slice(0, Math.max(1, this.rows - 1)).map((line) => cut(line, this.columns - 1))
    this.stream.write(`${this.toTop()}${fitting.map((line) => `${line}${clearLine}\n`).join('')}${clearBelow}`)
    this.drawn = fitting.map(widthOf)
  }

  /** Takes the block away; what is written next stands in its place. */
  clear(): void {
    if (!this.isLive) return
    this.stream.write(`${this.toTop()}${clearBelow}`)
    this.drawn = []
  }

  /** Writes a line that stays, above the block. */
  say(line: string): void {
    this.clear()
    this.stream.write(`${line}\n`)
  }

  private toTop(): string {
    // In a terminal that was made narrower the lines have wrapped; what has left it at the top cannot be reached.
    const lines = this.drawn.reduce((sum, width) => sum + Math.max(1, Math.ceil(width / this.columns)), 0)
    const up = Math.min(lines, this.rows - 1)
    return up <= 0 ? '\r' : `\r\x1b[${up}A`
  }
}

/** The width of a line as it is seen, without its colours. */
export const widthOf = (text: string): number => stripVTControlCharacters(text).length

/** Fills up to `width` characters as they are seen. */
export const fill = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)))

/** A line that is too long loses its colours with its end. */
const cut = (line: string, width: number): string =>
  widthOf(line) <= width ? line : stripVTControlCharacters(line).slice(0, Math.max(1, width))
