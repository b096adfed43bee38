/** Builds the package after `npm ci`, and where it is installed from git. A tarball is built by `prepack`, which prunes it. */
import { execSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const packs = ['pack', 'publish'].includes(process.env['npm_command'] ?? '')
if (!packs && existsSync('node_modules/typescript/bin/tsc')) {
  execSync('node .ci/build.mjs --noCheck', { stdio: 'inherit' })
}
