/** The libraries whose transactions jobs can join: packages of `test/orms/package.json`, which nothing else needs. */
import { execFileSync } from 'node:child_process'
import { existsSync, symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { missingPackages } from '../support/own-packages.ts'

const folder = new URL('./', import.meta.url)

/** Those that are not installed. */
export const missingLibraries = (): string[] => [
  ...missingPackages(fileURLToPath(folder)),
  ...(existsSync(new URL('node_modules/.prisma/client/index.js', folder)) ? [] : ["Prisma's client"]),
  ...(existsSync(new URL('node_modules/jobchart', folder)) ? [] : ['jobchart']),
]

/** Installs them as locked, unless they are there. */
function install(): void {
  if (missingLibraries().length === 0) return
  const options = ['--no-save', '--ignore-scripts', '--omit=optional', '--prefix', fileURLToPath(folder)]
  execFileSync('npm', ['install', ...options], { stdio: ['ignore', 2, 2] })
  // The programs of the docs import this package by its name.
  if (!existsSync(new URL('node_modules/jobchart', folder))) {
    symlinkSync('../../..', new URL('node_modules/jobchart', folder), 'dir')
  }
  // To generate a client, Prisma needs no engine; it would download one.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
  const prisma = fileURLToPath(new URL('node_modules/prisma/build/index.js', folder))
  const schema = fileURLToPath(new URL('prisma/schema.prisma', folder))
  execFileSync(process.execPath, [prisma, 'generate', '--schema', schema], {
    cwd: fileURLToPath(folder),
    env,
    stdio: ['ignore', 2, 2],
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) install()
