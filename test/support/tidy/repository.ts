/** The files of this repository, as the tidy rules see them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface TextFile {
  path: string
  text: string
}

export const repositoryRoot = fileURLToPath(new URL('../../..', import.meta.url))

// What git ignores, and what a tool wrote.
const notOurs = new Set([
  '.git',
  'node_modules',
  'dist',
  'coverage',
  '.next',
  'pages',
  'cache',
  'layouts.json',
  'blocks',
  'package-lock.json',
])

// Hidden folders there are what tests write while others run.
const tests = join(repositoryRoot, 'test')

function* walk(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (notOurs.has(entry.name)) continue
    if (entry.isDirectory() && entry.name.startsWith('.') && folder.startsWith(tests)) continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* walk(path)
    else if (entry.isFile()) yield path
  }
}

/** Every text file that belongs to the repository; a file with a zero byte is not text. */
export function textFiles(): TextFile[] {
  return [...walk(repositoryRoot)]
    .map((path) => ({ path: relative(repositoryRoot, path).replaceAll(sep, '/'), text: readFileSync(path, 'utf8') }))
    .filter(({ text }) => !text.includes('\0'))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

interface Entries {
  readonly exports: Record<string, string | Record<string, string>>
  readonly imports: Record<string, { readonly '@jobchart/source': Record<string, string> }>
}

/** The sources that `package.json` names: everything that ships is reachable from here. */
export function exportedSources(packageJson: string): string[] {
  const { exports, imports } = JSON.parse(packageJson) as Entries
  const named = Object.values(exports).flatMap((entry) =>
    typeof entry === 'string' ? [] : [entry['@jobchart/source']],
  )
  const chosen = Object.values(imports).flatMap((entry) => Object.values(entry['@jobchart/source']))
  return [...named, ...chosen].flatMap((source) => (source === undefined ? [] : [source.replace(/^\.\//, '')]))
}
