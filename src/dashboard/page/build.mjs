/** Builds the page into src/dashboard/page.generated.ts. A test compares what is there with what this gives. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

export async function generatedPage() {
  const [script, styles, pushWorker] = await Promise.all(['main.tsx', 'page.css', 'push-worker.ts'].map(bundled))
  const lines = [
    '/** Built from src/dashboard/page/ by `npm run page`. */',
    `export const script: string = ${JSON.stringify(script)}`,
    `export const styles: string = ${JSON.stringify(styles)}`,
    `export const pushWorker: string = ${JSON.stringify(pushWorker)}`,
    '',
  ]
  return lines.join('\n')
}

async function bundled(entry) {
  const { outputFiles } = await build({
    entryPoints: [at(entry)],
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    charset: 'utf8',
    logLevel: 'warning',
    tsconfigRaw: {},
  })
  return outputFiles[0].text.trim()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(at('../page.generated.ts'), await generatedPage())
}
