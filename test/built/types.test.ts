/** The published types, as users of both TypeScript versions that are in use compile against them. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { isLong } from '../support/long-form.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
/** Each with the names of the libraries that `es2025` became in TypeScript 6. */
const compilers = [
  ['typescript', ['es2024', 'esnext.disposable', 'es2025.collection', 'es2025.iterator']],
  ['typescript-5.9', ['es2024', 'esnext.disposable', 'esnext.collection', 'esnext.iterator']],
] as const

// `npm run types` compiles the same with the first of them.
test.each(isLong ? compilers : compilers.slice(1))(
  '%s compiles what the tests of types say',
  (compiler, lib) => {
    const folder = temporaryFolder()
    onTestFinished(() => folder.remove())
    const vitest = join(folder.path, 'vitest.d.ts')
    writeFileSync(vitest, vitestAsUsed)
    const compilerOptions = {
      paths: { vitest: [vitest], 'expect-type': [join(root, 'node_modules/expect-type')] },
      target: 'es2023',
      lib,
      module: 'nodenext',
      types: ['node'],
      typeRoots: [join(root, 'node_modules/@types')],
      strict: true,
      exactOptionalPropertyTypes: true,
      // Nearly all of it is the types of Node and of our dependencies.
      skipLibCheck: !isLong,
      noEmit: true,
    }
    const include = ['test/api/types.test.ts', 'test/machine-job/types.test.ts'].map((file) => join(root, file))
    writeFileSync(join(folder.path, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }))
    const tsc = join(root, 'node_modules', compiler, 'bin/tsc')
    const { stdout } = spawnSync(process.execPath, [tsc, '--project', folder.path], { encoding: 'utf8' })
    expect(ofPackage(stdout)).toEqual([])
  },
  120_000,
)

/** The tests of types use no more of Vitest, whose own types would take most of the time. */
const vitestAsUsed = `
export { expectTypeOf } from 'expect-type'
export declare function test(name: string, run: () => void | Promise<void>): void
`

/** The faults that are not in the types of another package. */
const ofPackage = (stdout: string): string[] =>
  stdout.split('\n').filter((line) => /error TS/.test(line) && !line.includes('node_modules/'))
