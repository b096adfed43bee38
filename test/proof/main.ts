/**
 * `npm run proof`: the long proofs, each of which `npm test` has a short form of. Ends with 1 if one has failed, with 2
 * if asked wrongly. A new proof is a file beside this one and an entry in `proofs`.
 */
import { parseArgs } from 'node:util'
import { bench } from './bench.ts'
import { chartsTwice } from './charts.ts'
import { lives } from './lives.ts'
import { model } from './model.ts'
import { power } from './power.ts'
import { longTests } from './tests.ts'
import type { Proof, ProofOptions } from './proof.ts'

const proofs: readonly Proof[] = [power, model, lives, bench, chartsTwice, longTests]

const usage = `npm run proof -- [options]
  --only name   one of them, may be repeated: ${proofs.map(({ name }) => name).join(', ')}
  --seed n      default: a new one; it is printed
  --scale n     tries n times as much, default 1`

interface Command extends ProofOptions {
  readonly chosen: readonly Proof[]
}

/** @throws TypeError */
function parseCommand(args: readonly string[]): Command {
  const options = {
    only: { type: 'string', multiple: true },
    seed: { type: 'string' },
    scale: { type: 'string' },
  } as const
  const { values } = parseArgs({ args: [...args], options })
  const number = (name: 'seed' | 'scale', otherwise: number, max: number): number => {
    const value = Number(values[name] ?? otherwise)
    if (Number.isInteger(value) && value > 0 && value <= max) return value
    throw new TypeError(`--${name} takes a whole number from 1 to ${max}, not ${values[name]}`)
  }
  const chosen = (values.only ?? proofs.map(({ name }) => name)).map((wanted) => {
    const proof = proofs.find(({ name }) => name === wanted)
    if (proof === undefined) throw new TypeError(`there is no proof ${wanted}`)
    return proof
  })
  return { chosen, seed: number('seed', 1 + Math.floor(Math.random() * 1e9), 2e9), scale: number('scale', 1, 1_000) }
}

async function prove({ chosen, ...options }: Command): Promise<boolean> {
  let holds = true
  for (const proof of chosen) {
    const start = performance.now()
    console.log(`${proof.name} (seed ${options.seed}): ${proof.claim}`)
    const { summary, failures } = await proof.run(options)
    for (const failure of failures) console.log(`  ${failure}`)
    const seconds = ((performance.now() - start) / 1_000).toFixed(0)
    console.log(`  ${failures.length === 0 ? 'holds' : `${failures.length} FAILURES`} in ${seconds} s: ${summary}`)
    if (failures.length > 0) holds = false
  }
  return holds
}

function commandOrUsage(): Command | null {
  try {
    return parseCommand(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    return null
  }
}

const command = commandOrUsage()
if (command === null) process.exitCode = 2
else if (!(await prove(command))) process.exitCode = 1
