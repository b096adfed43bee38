#!/usr/bin/env node
/** `npm create jobchart my-jobs`: copies the template into a new folder. */
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const folder = resolve(process.argv[2] ?? 'my-jobs')
// Published, the template is beside this file; in the repository it is the example beside this folder.
const template = ['./template', '../template']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path))

if (existsSync(folder) && readdirSync(folder).length > 0) {
  console.error(`${folder} is not empty`)
  process.exit(1)
}
cpSync(template, folder, {
  recursive: true,
  filter: (path) => !/node_modules|\.db(-|$)/.test(path.slice(template.length)),
})
// npm publishes no file of the name .gitignore.
renameSync(join(folder, 'gitignore'), join(folder, '.gitignore'))
const path = join(folder, 'package.json')
const name = basename(folder)
  .toLowerCase()
  .replaceAll(/[^a-z0-9._~-]+/g, '-')
writeFileSync(path, readFileSync(path, 'utf8').replace('"my-jobs"', JSON.stringify(name)))
console.log(`Made ${folder}. Next:\n\n  cd ${process.argv[2] ?? 'my-jobs'}\n  npm install\n  npm test\n  npm run dev\n`)
