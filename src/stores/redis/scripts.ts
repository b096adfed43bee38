/**
 * Runs the scripts: as functions of a library that the server keeps, which defines once what all calls share. A server
 * that has lost the library gets it again. Where functions are not allowed, or in a cluster, each script is sent by its
 * digest.
 */
import { createHash } from 'node:crypto'
import { JobchartError } from '../../core/errors.ts'
import { RedisError, type Commands, type Reply } from './connection.ts'
import type { LuaScript } from './scripts/lua.ts'
import { prelude } from './scripts/prelude.ts'

interface Script {
  /** The name of its function. */
  readonly name: string
  readonly text: string
  readonly digest: string
}

const digestOf = (text: string): string => createHash('sha1').update(text).digest('hex')

/** The body of a script. */
const bodyOf = ({ call, answer, typed, bare, duringRepair }: LuaScript): string =>
  bare === true
    ? `${call}\nreturn ${answer}`
    : `begin(KEYS, ARGV, ${typed === true ? 'split(ARGV[4])' : '{}'}, ${duringRepair === true})\n${call}\nreturn { stamp(), finish(), ${answer} }`

/** A script by itself. */
function textOf(script: LuaScript): string {
  const { definitions, stores, bare } = script
  const flags = stores === true ? '' : ' flags=allow-oom'
  // The server allows a function 200 local variables: those of the body are not among the ones before it.
  const body = `return (function()\n${bodyOf(script)}\nend)()`
  return `#!lua${flags}\n${bare === true ? '' : prelude}${definitions}${body}`
}

/**
 * All scripts as functions. The name of the library tells its text, so that versions of this package do not know of
 * each other.
 */
function libraryOf(scripts: readonly (readonly [name: string, script: LuaScript])[]): { name: string; text: string } {
  const register = ([name, script]: readonly [string, LuaScript]): string => {
    const { definitions, stores } = script
    const flags = stores === true ? '' : `, flags = { 'allow-oom' }`
    const callback = `function(KEYS, ARGV)\n${bodyOf(script)}\nend`
    return `do\n${definitions}\nredis.register_function{ function_name = LIBRARY .. '_${name}', callback = ${callback}${flags} }\nend`
  }
  const text = `${prelude}${scripts.map(register).join('\n')}`
  const name = `jobchart_${digestOf(text).slice(0, 16)}`
  return { name, text: `#!lua name=${name}\nlocal LIBRARY = '${name}'\n${text}` }
}

/** The texts of all scripts. */
export class ScriptTexts<Name extends string> {
  readonly scripts: Readonly<Record<Name, Script>>
  readonly library: string

  constructor(scripts: Readonly<Record<Name, LuaScript>>) {
    const named = Object.entries<LuaScript>(scripts)
    const library = libraryOf(named)
    this.library = library.text
    const made = named.map(([name, script]): [string, Script] => {
      const text = textOf(script)
      return [name, { name: `${library.name}_${name}`, text, digest: digestOf(text) }]
    })
    this.scripts = Object.fromEntries(made) as Record<Name, Script>
  }
}

export class Scripts<Name extends string> {
  private readonly redis: Commands
  private readonly namespace: string
  private readonly args: readonly string[]
  private readonly texts: ScriptTexts<Name>
  private asFunctions: boolean

  /** @param args what every script gets first */
  constructor(redis: Commands, namespace: string, args: readonly string[], texts: ScriptTexts<Name>) {
    this.redis = redis
    this.namespace = namespace
    this.args = args
    this.texts = texts
    // A library is loaded by each server of a cluster for itself: it is not where the keys are.
    this.asFunctions = redis.hasOneServer
  }

  async run(name: Name, request: readonly string[]): Promise<readonly Reply[]> {
    const reply = await this.reply(name, request)
    if (Array.isArray(reply)) return reply as readonly Reply[]
    throw new TypeError('a script has answered with something else than a list')
  }

  /** What a script answers: a text if it is `bare`. */
  reply(name: Name, request: readonly string[]): Promise<Reply> {
    const script = this.texts.scripts[name]
    const args = ['1', this.namespace, ...this.args, ...request]
    return this.asFunctions ? this.call(script, args) : this.evaluate(script, args)
  }

  private call(script: Script, args: readonly string[]): Promise<Reply> {
    const send = (): Promise<Reply> => this.redis.send(['FCALL', script.name, ...args])
    return send().catch((error: unknown) => this.callAgain(script, args, send, error))
  }

  /** @param failed why it was in vain */
  private async callAgain(
    script: Script,
    args: readonly string[],
    send: () => Promise<Reply>,
    failed: unknown,
  ): Promise<Reply> {
    if (isRefused(failed)) return this.withoutFunctions(script, args)
    if (!answers(failed, 'ERR Function not found')) throw failed
    try {
      await this.redis.send(['FUNCTION', 'LOAD', this.texts.library])
    } catch (error) {
      if (isRefused(error)) return this.withoutFunctions(script, args)
      // No library is loaded while the memory is full; a script is run.
      if (answers(error, 'OOM')) return this.evaluate(script, args)
      // Another call, or another process, has loaded it.
      if (!answers(error, 'ERR Library')) throw error
    }
    return send()
  }

  private withoutFunctions(script: Script, args: readonly string[]): Promise<Reply> {
    this.asFunctions = false
    return this.evaluate(script, args)
  }

  private async evaluate({ text, digest }: Script, args: readonly string[]): Promise<Reply> {
    try {
      return await this.redis.send(['EVALSHA', digest, ...args])
    } catch (error) {
      if (!answers(error, 'NOSCRIPT')) throw error
      return this.redis.send(['EVAL', text, ...args])
    }
  }
}

/** Has the server answered so? */
export const answers = (error: unknown, text: string): boolean =>
  error instanceof JobchartError && error.cause instanceof RedisError && error.cause.message.startsWith(text)

/** The user has no right to use functions, or the server does not offer them. */
const isRefused = (error: unknown): boolean => answers(error, 'NOPERM') || answers(error, 'ERR unknown')
