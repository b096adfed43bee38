/**
 * What Node.js has and a browser has not. Modules of Node are asked of the process and never imported, so that the same
 * files load in browsers, in workers at the edge, in Deno and in Bun, whatever a bundler is told.
 */
import type * as asyncHooks from 'node:async_hooks'
import type * as buffer from 'node:buffer'
import type * as nodeCrypto from 'node:crypto'
import type * as fs from 'node:fs'
import type * as os from 'node:os'
import type * as util from 'node:util'
import type * as workerThreads from 'node:worker_threads'
import { sha256 } from '@noble/hashes/sha2.js'
import { JobchartError } from './errors.ts'

/** Absent in browsers; some bundlers put an empty object in its place. */
const { process: host } = globalThis as { readonly process?: Partial<NodeJS.Process> }

/** The number of this process; 0 where there are none. */
export const processId = host?.pid ?? 0

interface NodeModules {
  readonly 'node:async_hooks': typeof asyncHooks
  readonly 'node:buffer': typeof buffer
  readonly 'node:crypto': typeof nodeCrypto
  readonly 'node:fs': typeof fs
  readonly 'node:os': typeof os
  readonly 'node:util': typeof util
  readonly 'node:worker_threads': typeof workerThreads
}

/** A module of Node; undefined where there is none. */
export const nodeModule = <Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined =>
  host?.getBuiltinModule?.(name)

/** @throws JobchartError UNSUPPORTED, of `what` */
export const notHere = (what: string, hint: string): JobchartError =>
  new JobchartError('UNSUPPORTED', `${what}: this platform lacks what it needs of Node.js`, { hint })

/** The name of the computer; in a browser the host name of the page. */
export function hostName(): string {
  const { location } = globalThis as { readonly location?: { readonly hostname: string } }
  return nodeModule('node:os')?.hostname() ?? (location?.hostname || 'browser')
}

const crypto = nodeModule('node:crypto')
const Bytes = nodeModule('node:buffer')?.Buffer
const encoder = new TextEncoder()

/** SHA-256 of a text in UTF-8. */
export const digestBytes = (text: string): Uint8Array =>
  crypto?.createHash('sha256').update(text).digest() ?? sha256(encoder.encode(text))

/** SHA-256 of a text in UTF-8, in base64url without padding. */
export const digestOf = (text: string): string =>
  crypto?.createHash('sha256').update(text).digest('base64url') ?? base64url(digestBytes(text))

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')

/** The length of a text in UTF-8. */
export const byteLength = (text: string): number => Bytes?.byteLength(text) ?? encoder.encode(text).length

/** Arguments of a call of the console as a line. */
export const lineOf: (...args: readonly unknown[]) => string =
  nodeModule('node:util')?.format ?? ((...args) => args.map(textOf).join(' '))

const textOf = (value: unknown): string =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value)

/** Lets the process end while a timer is set. Where a timer is a number, Deno takes it and a browser needs nothing. */
export function unrefTimer(timer: ReturnType<typeof setTimeout>): void {
  const { Deno } = globalThis as { readonly Deno?: { unrefTimer(id: unknown): void } }
  if (typeof timer === 'object') timer.unref()
  else Deno?.unrefTimer(timer)
}
