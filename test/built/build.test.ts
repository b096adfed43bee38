/** A build, beside processes that load what the last one has built. */
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { repositoryRoot } from '../support/tidy/repository.ts'

test('a build writes only modules that differ, each at once, and removes those whose source is gone', () => {
  const folder = temporaryFolder()
  onTestFinished(() => folder.remove())
  const at = (...path: string[]): string => join(folder.path, ...path)
  for (const name of ['.ci', 'src']) mkdirSync(at(name))
  cpSync(join(repositoryRoot, '.ci/build.mjs'), at('.ci/build.mjs'))
  symlinkSync(join(repositoryRoot, 'node_modules'), at('node_modules'))
  writeFileSync(at('package.json'), '{ "type": "module" }')
  const compilerOptions = { module: 'nodenext', target: 'es2023', rootDir: '..', outDir: '../dist', types: [] }
  writeFileSync(at('src/tsconfig.json'), JSON.stringify({ compilerOptions }))
  const write = (name: string, text: string): void => writeFileSync(at('src', `${name}.ts`), text)
  const build = (): unknown => execFileSync(process.execPath, [at('.ci/build.mjs')], { stdio: 'pipe' })
  for (const name of ['same', 'changed', 'gone']) write(name, `export const name = '${name}'\n`)
  build()
  const { ino, mtimeMs } = statSync(at('dist/src/same.js'))
  const opened = openSync(at('dist/src/changed.js'), 'r')

  write('changed', `export const name = 'new'\n`)
  rmSync(at('src/gone.ts'))
  build()
  expect(statSync(at('dist/src/same.js'))).toMatchObject({ ino, mtimeMs })
  expect(existsSync(at('dist/src/gone.js'))).toBe(false)
  expect(readFileSync(at('dist/src/changed.js'), 'utf8')).toContain('new')
  expect(readFileSync(opened, 'utf8'), 'what a reader has opened').toContain('changed')

  write('changed', `export const name: number = 'wrong'\n`)
  expect(build).toThrow('Command failed')
  expect(readFileSync(at('dist/src/changed.js'), 'utf8')).toContain('new')
})
