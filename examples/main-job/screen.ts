/**
 * The terminal: a block of lines that is redrawn in place, and lines above it that stay. The cursor stays visible: a process
 * that is killed could not bring it back.
 */
import type { WriteStream } from 'node:tty'
import { stripVTControlCharacters, styleText } from 'node:util'

/** In less, the lines of a block would wrap. */
const columnsMin = 76

const clearBelow = '\x1b[J'
const clearLine = '\x1b[K'

export class Screen {
  private readonly stream: WriteStream
  private drawn = 0

  constructor(stream: WriteStream) {
    this.stream = stream
  }

  /** Can it redraw, or only go on line by line? */
  get isLive(): boolean {
    return this.stream.isTTY && this.columns >= columnsMin
  }

  get columns(): number {
    return this.stream.columns ?? 80
  }

  paint(style: Parameters<typeof styleText>[0], text: string): string {
    return styleText(style, text, { stream: this.stream })
  }

  /** Shows the block in the place of the one before. */
  draw(block: readonly string[]): void {
    const fitting = block.slice(0, (this.stream.rows ?? 24) - 1)
    this.stream.write(`${this.toTop()}${fitting.map((line) => `${line}${clearLine}\n`).join('')}${clearBelow}`)
    this.drawn = fitting.length
  }

  /** Takes the block away; what is written next stands in its place. */
  clear(): void {
    if (!this.isLive) return
    this.stream.write(`${this.toTop()}${clearBelow}`)
    this.drawn = 0
  }

  /** Writes a line that stays, above the block. */
  say(line: string): void {
    this.clear()
    this.stream.write(`${line}\n`)
  }

  private toTop(): string {
    return this.drawn === 0 ? '\r' : `\r\x1b[${this.drawn}A`
  }
}

/** Fills up to `width` characters as they are seen, without their colours. */
export const fill = (text: string, width: number): string =>
  text + ' '.repeat(Math.max(0, width - stripVTControlCharacters(text).length))
