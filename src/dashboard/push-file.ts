/** Subscriptions of browsers in a file. */
import { randomUUID } from 'node:crypto'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { JobchartError } from '../core/errors.ts'
import type { BrowserSubscription, BrowserSubscriptions } from './push.ts'

/**
 * Keeps the subscriptions of web push in a file that only its owner can read, as JSON. It is made when the first
 * browser subscribes, and replaced as a whole at each change. One process may write it.
 * @param path of the file; its folder must exist
 * @returns for `push.subscriptions` of `createDashboard`. Its calls reject with INVALID_INPUT if the file is not as
 *   they have left it, and with errors of `node:fs`
 */
export function fileSubscriptions(path: string): BrowserSubscriptions {
  // A change reads and writes: one after the other.
  let last: Promise<unknown> = Promise.resolve()
  const change = (to: (kept: readonly BrowserSubscription[]) => readonly BrowserSubscription[]): Promise<void> => {
    const changed = last.then(async () => replace(path, to(await keptIn(path))))
    last = changed.catch(() => {})
    return changed
  }
  return {
    list: () => keptIn(path),
    add: (subscription) =>
      change((kept) => [...kept.filter(({ endpoint }) => endpoint !== subscription.endpoint), subscription]),
    remove: (gone) => change((kept) => kept.filter(({ endpoint }) => endpoint !== gone)),
  }
}

async function keptIn(path: string): Promise<readonly BrowserSubscription[]> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
  try {
    const { subscriptions } = JSON.parse(text) as { readonly subscriptions: readonly BrowserSubscription[] }
    if (Array.isArray(subscriptions)) return subscriptions
    throw new TypeError('it has no list of subscriptions')
  } catch (cause) {
    const hint = 'Remove the file: browsers subscribe again when their page is opened.'
    throw new JobchartError('INVALID_INPUT', `${path} has no subscriptions that can be read`, { hint, cause })
  }
}

async function replace(path: string, subscriptions: readonly BrowserSubscription[]): Promise<void> {
  const next = `${path}.${randomUUID()}`
  try {
    await writeFile(next, `${JSON.stringify({ subscriptions }, null, 2)}\n`, { mode: 0o600, flush: true })
    await rename(next, path)
  } catch (error) {
    await rm(next, { force: true })
    throw error
  }
}
