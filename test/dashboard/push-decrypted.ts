/** What a browser does with a message of web push: RFC 8188 and 8291, for one record. */
import { createDecipheriv, hkdfSync, type ECDH } from 'node:crypto'

/**
 * @param body of the request to the push service
 * @param ecdh the keys of the browser
 * @param auth of its subscription
 */
export function decrypted(body: Buffer | null, ecdh: ECDH, auth: Buffer): string {
  if (body === null) throw new Error('the request has no body')
  const salt = body.subarray(0, 16)
  const idLength = body[20] ?? 0
  const sender = body.subarray(21, 21 + idLength)
  const record = body.subarray(21 + idLength)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender])
  const shared = Buffer.from(hkdfSync('sha256', ecdh.computeSecret(sender), auth, info, 32))
  const key = Buffer.from(hkdfSync('sha256', shared, salt, 'Content-Encoding: aes128gcm\0', 16))
  const nonce = Buffer.from(hkdfSync('sha256', shared, salt, 'Content-Encoding: nonce\0', 12))
  const decipher = createDecipheriv('aes-128-gcm', key, nonce).setAuthTag(record.subarray(-16))
  const padded = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()])
  // A byte of 2 ends the text; then comes padding.
  return padded.subarray(0, padded.lastIndexOf(2)).toString('utf8')
}
