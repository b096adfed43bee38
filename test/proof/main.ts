/**
 * `npm run proof`: the long proofs, each of which `npm test` has a short form of. A new proof is a file beside this one
 * and an entry in `proofs`.
 */
import './long.ts'
import { runCommand } from '../harness/command.ts'
import { choices, seed, whole } from '../harness/options.ts'
import { bench } from './bench.ts'
import { chartsTwice } from './charts.ts'
import { frameworks } from './frameworks.ts'
import { killpoints } from './killpoints.ts'
import { lives } from './lives.ts'
import { model } from './model.ts'
import { cost } from './cost.ts'
import { engineMutants, storeMutants } from './mutants.ts'
import { power } from './power.ts'
import { pgbouncer } from './pgbouncer.ts'
import { postgresVersions } from './postgres-versions.ts'
import type { Proof, ProofOptions } from './proof.ts'
import { otherRuntimes } from './runtimes.ts'
import { site } from './site.ts'
import { standby } from './standby.ts'
import { storms } from './storms.ts'
import { longTests } from './tests.ts'

const proofs: readonly Proof[] = [
  power,
  killpoints,
  model,
  lives,
  engineMutants,
  storeMutants,
  storms,
  postgresVersions,
  pgbouncer,
  standby,
  bench,
  cost,
  chartsTwice,
  otherRuntimes,
  frameworks,
  site,
  longTests,
]

/** @returns does it hold? */
async function prove(proof: Proof, options: ProofOptions): Promise<boolean> {
  const start = performance.now()
  console.log(`${proof.name} (seed ${options.seed}): ${proof.claim}`)
  const { summary, failures } = await proof.run(options)
  for (const failure of failures) console.log(`  ${failure}`)
  const seconds = ((performance.now() - start) / 1_000).toFixed(0)
  console.log(`  ${failures.length === 0 ? 'holds' : `${failures.length} FAILURES`} in ${seconds} s: ${summary}`)
  return failures.length === 0
}

process.exitCode = await runCommand({
  name: 'npm run proof --',
  options: {
    only: choices(
      'some of the proofs',
      proofs.map(({ name }) => name),
    ),
    seed: seed(),
    scale: whole('tries n times as much', [1, 1_000], 1),
  },
  async run({ only, ...options }) {
    let holds = true
    for (const proof of proofs.filter(({ name }) => only.includes(name))) {
      if (!(await prove(proof, options))) holds = false
    }
    return holds
  },
})
