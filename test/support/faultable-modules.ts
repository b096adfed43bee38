/**
 * Makes the exported functions and classes of `src/` and `machines/` replaceable, for `faults.ts`: a module is served
 * as one that exports the same names, each function and class behind a switch. Modules that were loaded before stay as
 * they are.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'oxc-parser'

const faultable = ['src/', 'machines/'].map((folder) => new URL(`../../${folder}`, import.meta.url).href)
const switches = new URL('fault-switches.ts', import.meta.url).href
/** The query of the module itself, which stands behind the switches. */
const behind = '?behind-switches'

interface Exported {
  readonly name: string
  readonly kind: 'function' | 'class'
}

const callables: Readonly<Record<string, Exported['kind']>> = {
  FunctionDeclaration: 'function',
  ClassDeclaration: 'class',
  ArrowFunctionExpression: 'function',
  FunctionExpression: 'function',
}

/** The functions and classes that a module declares and exports. */
export function exportedCallables(path: string, text: string): Exported[] {
  const found: Exported[] = []
  for (const statement of parseSync(path, text).program.body) {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) continue
    const { declaration } = statement
    if (declaration.type === 'FunctionDeclaration' || declaration.type === 'ClassDeclaration') {
      const kind = callables[declaration.type]
      if (declaration.id !== null && kind !== undefined) found.push({ name: declaration.id.name, kind })
    } else if (declaration.type === 'VariableDeclaration') {
      for (const { id, init } of declaration.declarations) {
        const kind = callables[init?.type ?? '']
        if (id.type === 'Identifier' && kind !== undefined) found.push({ name: id.name, kind })
      }
    }
  }
  return found
}

function withSwitches(url: string): string | null {
  const path = fileURLToPath(url)
  const exported = exportedCallables(path, readFileSync(path, 'utf8'))
  if (exported.length === 0) return null
  const sound = JSON.stringify(`${url}${behind}`)
  return [
    `import { switchable, switchableClass } from ${JSON.stringify(switches)}`,
    `import * as behind from ${sound}`,
    `export * from ${sound}`,
    ...exported.map(({ name, kind }) => {
      return `export const ${name} = ${kind === 'class' ? 'switchableClass' : 'switchable'}(behind.${name})`
    }),
  ].join('\n')
}

/** Call it before the modules are imported: import them dynamically after it. */
export function makeModulesFaultable(): void {
  registerHooks({
    load(url, context, nextLoad) {
      if (!url.endsWith('.ts') || !faultable.some((folder) => url.startsWith(folder))) return nextLoad(url, context)
      const source = withSwitches(url)
      return source === null ? nextLoad(url, context) : { format: 'module', source, shortCircuit: true }
    },
  })
}
