/** A browser for tests. Debian's Chromium without windows starts in half the time; the other one will do. */
import { existsSync } from 'node:fs'
import { chromium, type Browser } from 'playwright-core'

const paths = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']
const executablePath = paths.find((path) => existsSync(path))

export const canStartBrowser = executablePath !== undefined
if (!canStartBrowser)
  process.stdout.write(`the page is not tested in a browser: none of ${paths.join(', ')} is there\n`)

/** @throws where `canStartBrowser` is false */
export async function startBrowser(): Promise<Browser> {
  if (executablePath === undefined) throw new Error('there is no browser')
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}
