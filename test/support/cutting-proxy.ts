/** A TCP proxy between clients and a server that cuts and half-closes connections at random. */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { seededRandom } from '../../src/core/clock.ts'

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

export class CuttingProxy {
  private readonly pairs = new Set<Pair>()
  private readonly random: () => number
  private readonly listener = createServer({ allowHalfOpen: true }, (client) => this.accept(client))
  private readonly target: number
  private timer: NodeJS.Timeout | null = null
  /** What was done so far, by kind. */
  readonly harm = { cut: 0, halfClosed: 0 }

  /** @param target the port of the server */
  constructor(target: number, seed: number) {
    this.target = target
    this.random = seededRandom(seed)
  }

  async start(): Promise<number> {
    this.listener.listen(0, '127.0.0.1')
    await once(this.listener, 'listening')
    return (this.listener.address() as AddressInfo).port
  }

  /** From now on harms a connection about so often. */
  rage(everyMs: number): void {
    const again = (): void => {
      this.timer = setTimeout(
        () => {
          this.harmOne()
          again()
        },
        2 * everyMs * this.random(),
      )
    }
    again()
  }

  /** Harms nobody any more. */
  calm(): void {
    if (this.timer !== null) clearTimeout(this.timer)
  }

  async end(): Promise<void> {
    this.calm()
    this.listener.close()
    for (const { client, server } of this.pairs) {
      client.destroy()
      server.destroy()
    }
    await once(this.listener, 'close')
  }

  private accept(client: Socket): void {
    const server = connect({ port: this.target, host: '127.0.0.1', allowHalfOpen: true })
    const pair = { client, server }
    this.pairs.add(pair)
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      from.on('data', (data) => void to.write(data))
      from.on('end', () => to.end())
      // A cut tells of itself by its close.
      from.on('error', () => {})
      from.on('close', () => {
        to.destroy()
        this.pairs.delete(pair)
      })
    }
  }

  /**
   * A cut ends both ways at once, with what is on its way. A half-closed connection has one way left: what the server answers arrives,
   * and what the client asks does not, or the other way round.
   */
  private harmOne(): void {
    const pairs = [...this.pairs]
    const pair = pairs[Math.floor(this.random() * pairs.length)]
    const kind = this.random()
    if (pair === undefined) return
    const { client, server } = pair
    if (kind < 0.5) {
      this.harm.cut++
      client.resetAndDestroy()
      server.destroy()
    } else {
      this.harm.halfClosed++
      const [from, to] = this.random() < 0.5 ? [client, server] : [server, client]
      from.removeAllListeners('data').resume()
      to.end()
    }
  }
}
