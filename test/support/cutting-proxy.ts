/**
 * A TCP proxy between clients and a server that cuts and half-closes connections at random, or lets what is sent on
 * them vanish.
 */
import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { seededRandom } from '../../src/core/clock.ts'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** Has the client asked for messages of a channel on it? */
  subscribes: boolean
}

export class CuttingProxy {
  private readonly pairs = new Set<Pair>()
  private readonly random: () => number
  private readonly listener = createServer({ allowHalfOpen: true }, (client) => this.accept(client))
  private readonly target: number
  private timer: NodeJS.Timeout | null = null
  /** What was done so far, by kind. */
  readonly harm = { cut: 0, halfClosed: 0, silenced: 0 }
  /** Connections so far. */
  accepted = 0
  /** Is each new connection silent from its beginning? */
  silencesNew = false

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

  /** What is sent on these connections vanishes from now on, in both directions; they stay open. */
  silence(which: (pair: Pair) => boolean = () => true): void {
    for (const pair of this.pairs) if (which(pair)) this.silenceOne(pair)
  }

  /** Ends all connections at once, with what is on its way. */
  cutAll(): void {
    for (const pair of this.pairs) this.cut(pair)
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
    const pair: Pair = { client, server, subscribes: false }
    this.pairs.add(pair)
    this.accepted++
    client.on('data', (data) => (pair.subscribes ||= /subscribe/i.test(data.toString('latin1'))))
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
    if (this.silencesNew) this.silenceOne(pair)
  }

  private silenceOne({ client, server }: Pair): void {
    this.harm.silenced++
    for (const socket of [client, server]) socket.removeAllListeners('data').removeAllListeners('end').resume()
  }

  private cut({ client, server }: Pair): void {
    this.harm.cut++
    client.resetAndDestroy()
    server.destroy()
  }

  /**
   * A cut ends both ways at once. A half-closed connection has one way left: what the server answers arrives,
   * and what the client asks does not, or the other way round.
   */
  private harmOne(): void {
    const pairs = [...this.pairs]
    const pair = pairs[Math.floor(this.random() * pairs.length)]
    const kind = this.random()
    if (pair === undefined) return
    const { client, server } = pair
    if (kind < 0.5) this.cut(pair)
    else {
      this.harm.halfClosed++
      const [from, to] = this.random() < 0.5 ? [client, server] : [server, client]
      from.removeAllListeners('data').resume()
      to.end()
    }
  }
}
