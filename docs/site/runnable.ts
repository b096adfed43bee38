/**
 * The blocks of TypeScript in the pages that can run where they are read: they need nothing but packages that load in
 * a browser, and say what they have done. Each becomes a module, which its button loads.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tsBlocks } from '../../test/support/markdown-code.ts'

/** What a block may import. */
const loadable = new Set(['jobchart', 'jobchart/chart', 'jobchart/testing', 'rxjs', 'xstate'])
/** A file that the page cannot have: there the memory store takes its place. */
const file = "store: 'jobs.db'"
/** Words of programs that are not whole, or need more than a page has. */
const elsewhere = /^declare |^export |\bprocess\.|\bglobalThis\b/m
const imports = /^import [^;]*? from '([^']+)'\n/gm

export interface Runnable {
  /** Of its module. */
  readonly name: string
  /** The line of the page on which its code begins. */
  readonly line: number
  /** A module that exports `run`, which is given a console. */
  readonly module: string
  /** It runs on another store than it says. */
  readonly inMemory: boolean
}

/** @param page its name, without `.md` */
export function runnables(page: string, markdown: string): Runnable[] {
  return tsBlocks(markdown).flatMap(({ line, code, runs }) => {
    const from = Array.from(code.matchAll(imports), ([, name]) => name ?? '')
    const isWhole = runs && code.includes('console.log(') && code.includes('\nawait ') && !elsewhere.test(code)
    if (!isWhole || from.length === 0 || !from.every((name) => loadable.has(name))) return []
    const inMemory = code.includes(file)
    return [{ name: `${page}-${line}`, line, module: moduleOf(code, inMemory), inMemory }]
  })
}

/** Those of all pages that have any, by the name of the page. @param docs the folder of the pages */
export function runnablePages(docs: string): ReadonlyMap<string, Runnable[]> {
  const names = readdirSync(docs).filter((name) => name.endsWith('.md'))
  const pages = names.map((name): [string, Runnable[]] => {
    const page = name.replace(/\.md$/, '')
    return [page, runnables(page, readFileSync(join(docs, name), 'utf8'))]
  })
  return new Map(pages.filter(([, found]) => found.length > 0))
}

function moduleOf(code: string, inMemory: boolean): string {
  const store = inMemory ? "import { memoryStore as storeOfThePage } from 'jobchart'\n" : ''
  const body = code.replaceAll(imports, '').replaceAll(file, 'store: storeOfThePage()')
  const head = Array.from(code.matchAll(imports), ([text]) => text).join('')
  return `${store}${head}
export async function run(console: { log(...values: unknown[]): void }): Promise<void> {
${body}}
`
}

/** The page with a button below each of them. */
export function withButtons(markdown: string, found: readonly Runnable[]): string {
  const lines = markdown.split('\n')
  for (const { name, line, inMemory } of found.toReversed()) {
    const end = lines.indexOf('```', line - 1)
    lines.splice(end + 1, 0, '', `<Run name="${name}"${inMemory ? ' in-memory' : ''} />`)
  }
  return lines.join('\n')
}
