/** The log of a job: what is kept of it. */
import { caps } from './caps.ts'
import { byteLength } from './platform.ts'
import type { LogLine } from './record.ts'

/** The last lines that are within the caps, by number and by bytes. */
export function lastLogs(lines: readonly LogLine[]): LogLine[] {
  let first = lines.length
  for (let bytes = 0; first > 0 && lines.length - first < caps.logs; first--) {
    bytes += byteLength(JSON.stringify(lines[first - 1]))
    if (bytes > caps.logBytes) break
  }
  return lines.slice(first)
}
