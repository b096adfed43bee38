/** Builds the package before tests look at it as it is published. */
import { execFileSync } from 'node:child_process'

/** `npm run types` checks the types; here the time of all other tests would wait for it. */
export default function build(): void {
  execFileSync('npm', ['run', '--silent', 'build', '--', '--noCheck'], { stdio: 'inherit' })
}
