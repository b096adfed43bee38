/**
 * Before the site is built: its pages are those of docs/, with links that leave the folder led to the repository and
 * buttons below the code that runs in the page; the API comes from the doc comments; and the layout of the chart of the
 * first page is computed.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { toSvg, type LayoutEngine } from '../../src/chart/index.ts'
import { loadElk } from '../../src/chart/layout.ts'
import { entries } from './entries.ts'
import { orderMachine } from './live/order.machine.ts'
import { runnables, withButtons } from './runnable.ts'

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

/** Writes the blocks of a page that run in it. @returns the page with their buttons */
function withRun(page: string, markdown: string): string {
  const found = runnables(page, markdown)
  for (const { name, module } of found) writeFileSync(pathOf(`live/blocks/${name}.ts`), module)
  return withButtons(markdown, found)
}

function writePages(): void {
  const pages = pathOf('pages')
  for (const written of [pages, pathOf('live/blocks')]) rmSync(written, { recursive: true, force: true })
  mkdirSync(`${pages}/decisions`, { recursive: true })
  mkdirSync(pathOf('live/blocks'))
  for (const folder of ['', 'decisions/']) {
    for (const name of readdirSync(pathOf(`../${folder}`)).filter((each) => each.endsWith('.md'))) {
      const text = readFileSync(pathOf(`../${folder}${name}`), 'utf8')
      const page = folder === '' ? withRun(name.replace(/\.md$/, ''), text) : text
      writeFileSync(`${pages}/${folder}${name}`, withLinks(page, folder === '' ? 0 : 1))
    }
  }
  for (const name of ['charts', 'images']) cpSync(pathOf(`../${name}`), `${pages}/${name}`, { recursive: true })
  cpSync(pathOf('index.md'), `${pages}/index.md`)
}

function writeApi(): void {
  const typedoc = pathOf('node_modules/typedoc/bin/typedoc')
  const points = entries.flatMap(({ source }) => ['--entryPoints', pathOf(`../../${source}`)])
  execFileSync(process.execPath, [typedoc, ...points], { cwd: pathOf('.'), stdio: ['ignore', 2, 2] })
  const api = pathOf('pages/api')
  rmSync(`${api}/README.md`)
  for (const { name, page } of entries) {
    const path = `${api}/${page}.md`
    writeFileSync(path, readFileSync(path, 'utf8').replace(/^# .*$/m, `# ${name}`))
  }
}

await writeLayouts()
writePages()
writeApi()
