/** Says how far a proof is: one line that is rewritten on a terminal, a line every few seconds elsewhere. */

const everyMs = 5_000
const everyMsOnTerminal = 100

export class Progress {
  private readonly startedAt = performance.now()
  private readonly stream: NodeJS.WriteStream
  private saidAt = -Infinity

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.stream = stream
  }

  /** @param text is called only if it is said, for it may cost something */
  say(text: string | (() => string)): void {
    const now = performance.now()
    if (now - this.saidAt < (this.stream.isTTY ? everyMsOnTerminal : everyMs)) return
    this.saidAt = now
    const line = `${clockOf(now - this.startedAt)}  ${typeof text === 'string' ? text : text()}`
    if (this.stream.isTTY) this.stream.write(`\r\u001B[2K${line.slice(0, this.stream.columns - 1)}`)
    else this.stream.write(`${line}\n`)
  }

  /** Leaves the line to what is printed next. */
  end(): void {
    if (this.stream.isTTY) this.stream.write('\r\u001B[2K')
  }
}

function clockOf(ms: number): string {
  const seconds = Math.floor(ms / 1_000)
  return [Math.floor(seconds / 60), seconds % 60].map((each) => String(each).padStart(2, '0')).join(':')
}
