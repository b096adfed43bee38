/** Says on stderr what is being measured: one line that is rewritten on a terminal, a line each elsewhere. */

export class Progress {
  private readonly startedAt = performance.now()
  private readonly stream: NodeJS.WriteStream
  private shown = false

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.stream = stream
  }

  say(text: string): void {
    const line = `  ${this.elapsed()}  ${text}`
    if (!this.stream.isTTY) {
      this.stream.write(`${line}\n`)
      return
    }
    this.clear()
    this.stream.write(line.slice(0, this.stream.columns - 1))
    this.shown = true
  }

  /** Makes room for what is printed next. */
  clear(): void {
    if (this.shown) this.stream.write('\r\u001B[2K')
    this.shown = false
  }

  private elapsed(): string {
    const seconds = Math.floor((performance.now() - this.startedAt) / 1_000)
    return `${String(Math.floor(seconds / 60)).padStart(2, '0')}:${String(seconds % 60).padStart(2, '0')}`
  }
}
