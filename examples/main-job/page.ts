/** The dashboard of a run, on a port of this computer, and the browser that shows it. */
import { spawn } from 'node:child_process'
import type { Runtime } from 'jobchart'
import { createDashboard } from 'jobchart/dashboard'
import type { Screen } from './screen.ts'

export interface Page extends AsyncDisposable {
  /** Where it is; null where no port can be had: the work goes on without it. */
  readonly url: string | null
}

export async function servePage(runtime: Runtime, folder: string, screen: Screen): Promise<Page> {
  try {
    const { url, close } = await createDashboard({ runtime, title: folder.slice(-100) }).listen()
    screen.say(`Dashboard: ${url}`)
    return { url, [Symbol.asyncDispose]: close }
  } catch (error) {
    screen.say(`No dashboard: ${error instanceof Error ? error.message : String(error)}`)
    return { url: null, [Symbol.asyncDispose]: async () => {} }
  }
}

/** Shows the page as the desktop does; where there is no desktop its address has been said. */
export function openInBrowser(url: string): void {
  const opener = spawn(process.platform === 'darwin' ? 'open' : 'xdg-open', [url], { stdio: 'ignore', detached: true })
  opener.on('error', () => {})
  opener.unref()
}
