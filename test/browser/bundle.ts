/** Bundles for a browser, made by esbuild of the sources. */
import { build, type BuildOptions } from 'esbuild'
import { repositoryRoot } from '../support/tidy/repository.ts'

/** The entries that run in a browser. */
export const entries = ['jobchart', 'jobchart/chart', 'jobchart/store', 'jobchart/testing'] as const

export interface Bundle {
  readonly text: string
  /** What it imports from outside itself. */
  readonly imports: readonly string[]
}

/** Bundles a module, given as text. It fails on an import that a browser has not, such as a module of Node. */
export async function bundleForBrowser(contents: string, options: BuildOptions = {}): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: repositoryRoot, loader: 'ts' },
    absWorkingDir: repositoryRoot,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2023',
    conditions: ['@jobchart/source'],
    logLevel: 'silent',
    ...options,
    metafile: true,
    write: false,
  })
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports.map(({ path }) => path))
  return { text: outputFiles[0]!.text, imports: [...new Set(imports)] }
}
