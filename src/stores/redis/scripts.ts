/** Runs the scripts: by their digest, and with their text again when the server has forgotten them. */
import { createHash } from 'node:crypto'
import type { Redis, Reply } from './connection.ts'
import { RedisError } from './connection.ts'

class Script {
  readonly text: string
  readonly digest: string

  constructor(text: string) {
    this.text = text
    this.digest = createHash('sha1').update(text).digest('hex')
  }
}

export class Scripts<Name extends string> {
  private readonly redis: Redis
  private readonly namespace: string
  private readonly args: readonly string[]
  private readonly scripts: Readonly<Record<Name, Script>>

  /** @param args what every script gets first */
  constructor(redis: Redis, namespace: string, args: readonly string[], texts: Readonly<Record<Name, string>>) {
    this.redis = redis
    this.namespace = namespace
    this.args = args
    const made = Object.entries<string>(texts).map(([name, text]) => [name, new Script(text)])
    this.scripts = Object.fromEntries(made) as Record<Name, Script>
  }

  async run(name: Name, request: readonly string[]): Promise<readonly Reply[]> {
    const { text, digest } = this.scripts[name]
    const args = ['1', this.namespace, ...this.args, ...request]
    try {
      return listOf(await this.redis.send(['EVALSHA', digest, ...args]))
    } catch (error) {
      if (!(error instanceof RedisError) || !error.message.startsWith('NOSCRIPT')) throw error
      return listOf(await this.redis.send(['EVAL', text, ...args]))
    }
  }
}

function listOf(reply: Reply): readonly Reply[] {
  if (Array.isArray(reply)) return reply as readonly Reply[]
  throw new TypeError('a script has answered with something else than a list')
}
