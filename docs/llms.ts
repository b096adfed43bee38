/**
 * The text of llms.txt (https://llmstxt.org): what this package is, and where each thing is described, for programs
 * that read.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const address = 'https://raw.githubusercontent.com/jobchart/jobchart/main/'
const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

/** The first sentence of a page. */
function about(markdown: string): string {
  const paragraphs = markdown
    .replaceAll(/^#.*$|^<!--.*-->$|^!\[.*$|\*\*/gm, '')
    .split(/\n{2,}/)
    .map((text) => text.replaceAll(/\s+/g, ' ').trim())
  const first = paragraphs.find((text) => text !== '') ?? ''
  return (/^.*?[.:](?= |$)/.exec(first)?.[0] ?? first).replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1').replace(/:$/, '.')
}

const link = (path: string, title: string, text: string): string => `- [${title}](${address}${path}): ${text}`

function page(path: string): string {
  const markdown = read(path)
  return link(path, /^# (.+)$/m.exec(markdown)?.[1] ?? path, about(markdown))
}

function example(path: string): string {
  const lines = read(path).split('\n')
  const comment = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('//') || line === '//'),
  )
  return link(path, path.replace('examples/', ''), comment.map((line) => line.slice(3)).join(' '))
}

export function llmsText(): string {
  const names = (folder: string, pattern: RegExp): string[] =>
    readdirSync(`${root}${folder}`)
      .filter((name) => pattern.test(name))
      .toSorted()
      .map((name) => `${folder}/${name}`)
  return `# jobchart

> ${(JSON.parse(read('package.json')) as { description: string }).description}: embedded in the process, in memory, in a SQLite file, on a Redis server or in a PostgreSQL database, with types from end to end.

Every call throws a \`JobchartError\` with \`code\` and \`hint\`. Jobs run at least once: handlers are idempotent. ESM, Node 22.13 and newer.
\`import { createRuntime, defineJob } from 'jobchart'\`; stores: \`memoryStore()\` (default), \`sqliteStore({ path })\` of \`jobchart/sqlite\`, \`redisStore({ url })\` of \`jobchart/redis\`, \`postgresStore({ url })\`, or \`{ pglite }\` for PostgreSQL in the process, of \`jobchart/postgres\`; or an address as text: \`store: 'jobs.db'\`, \`store: 'redis://localhost:6379'\`, \`store: 'postgres://localhost/shop'\`.

## Docs

${['README.md', ...names('docs', /\.md$/)].map(page).join('\n')}

## Examples

${names('examples', /^\d+-.*\.ts$/)
  .map(example)
  .join('\n')}
`
}
