/**
 * Open dashboards as a process of their own: `readers.ts <address of the stream> <how many>` reads so many live
 * streams.
 */
import { get } from 'node:http'

const [url, count] = process.argv.slice(2) as [string, string]

// The process that has forked this one has ended.
process.on('disconnect', () => process.exit())
let open = 0
for (let i = 0; i < Number(count); i++) {
  get(url, { agent: false }, (response) => {
    if (response.statusCode !== 200) process.exit(1)
    response.resume()
    if (++open === Number(count)) process.send?.('open')
  })
}
