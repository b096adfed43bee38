/** The numbered examples, and what the header of each promises. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repositoryRoot } from './tidy/repository.ts'

export interface Example {
  name: string
  path: string
  lineCount: number
  /** What it prints, from the `// prints:` block of its header; null when it has none. */
  prints: string | null
}

/** The lines `//   text` that follow `// prints:`. An empty line is written `//`. */
export function promisedOutput(text: string): string | null {
  const lines = text.split('\n')
  const start = lines.indexOf('// prints:') + 1
  if (start === 0) return null
  const rest = lines.slice(start)
  const end = rest.findIndex((line) => line !== '//' && !line.startsWith('//   '))
  return rest
    .slice(0, end === -1 ? rest.length : end)
    .map((line) => line.slice('//   '.length))
    .join('\n')
}

export function readExamples(): Example[] {
  const folder = join(repositoryRoot, 'examples')
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => /^\d\d-.+\.ts$/.test(name))
    .toSorted()
    .map((name) => {
      const path = join(folder, name)
      const text = readFileSync(path, 'utf8')
      return { name, path, lineCount: text.trimEnd().split('\n').length, prints: promisedOutput(text) }
    })
}
