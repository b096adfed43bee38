/**
 * Before the site is built: its pages are those of docs/, with links that leave the folder led to the repository, and
 * the layout of the chart of the first page is computed.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { toSvg, type LayoutEngine } from '../../src/chart/index.ts'
import { loadElk } from '../../src/chart/layout.ts'
import { orderMachine } from './live/order.machine.ts'

const repository = 'https://github.com/jobchart/jobchart/blob/main'
const pathOf = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

async function writeLayouts(): Promise<void> {
  const layouts: Record<string, object> = {}
  const elk = await loadElk()
  const engine: LayoutEngine = {
    async layout(graph) {
      const asked = JSON.stringify(graph)
      const placed = await elk.layout(graph)
      layouts[asked] = placed
      return placed
    },
  }
  await toSvg(orderMachine, { active: 'packing', direction: 'right', engine })
  writeFileSync(pathOf('live/layouts.json'), JSON.stringify(layouts))
}

/** Links of a page of `docs/`, or of a folder in it: those to files outside `docs/` lead to the repository. */
const withLinks = (markdown: string, depth: number): string =>
  markdown
    .replaceAll(/\]\(((?:\.\.\/)+)([^)#]+)(#[^)]*)?\)/g, (link, up: string, path: string, anchor = '') =>
      up.length / 3 > depth ? `](${repository}/${path}${anchor})` : link,
    )
    // Pictures in HTML are found by Vite when their address begins with a dot.
    .replaceAll(/(src|srcset)="(charts|images)\//g, '$1="./$2/')

function writePages(): void {
  const pages = pathOf('pages')
  rmSync(pages, { recursive: true, force: true })
  mkdirSync(`${pages}/decisions`, { recursive: true })
  for (const folder of ['', 'decisions/']) {
    for (const name of readdirSync(pathOf(`../${folder}`)).filter((each) => each.endsWith('.md'))) {
      const text = readFileSync(pathOf(`../${folder}${name}`), 'utf8')
      writeFileSync(`${pages}/${folder}${name}`, withLinks(text, folder === '' ? 0 : 1))
    }
  }
  for (const name of ['charts', 'images']) cpSync(pathOf(`../${name}`), `${pages}/${name}`, { recursive: true })
  cpSync(pathOf('index.md'), `${pages}/index.md`)
}

await writeLayouts()
writePages()
