/**
 * Web push: what is no longer as usual is told to browsers in which no page is open. A browser subscribes at its push
 * service (Push API of the W3C); messages are encrypted and sent by a library of the user's (RFC 8030, 8291, 8292).
 */
import {
  byDefault,
  fn,
  is,
  listOf,
  object,
  required,
  table,
  text,
  where,
  withMethods,
  type RulesOf,
} from '../core/checks.ts'
import { JobchartError } from '../core/errors.ts'
import { consoleLogger } from '../core/logger.ts'
import { someAtOnce } from './some-at-once.ts'
import type { TroubleReport } from './trouble-watch.ts'
import { withinTime } from './within-time.ts'

/** A browser that wants to be told, as its `PushSubscription` has it in JSON. */
export interface BrowserSubscription {
  /** The address at the push service of the browser. */
  readonly endpoint: string
  /** The public key of the browser, and what authenticates it: base64url. */
  readonly keys: { readonly p256dh: string; readonly auth: string }
}

/** Where subscriptions are kept. `fileSubscriptions` keeps them in a file. */
export interface BrowserSubscriptions {
  readonly list: () => Promise<readonly BrowserSubscription[]>
  /** Keeps one; one of the same endpoint is replaced. */
  readonly add: (subscription: BrowserSubscription) => Promise<void>
  /** Forgets one; nothing happens if there is none. */
  readonly remove: (endpoint: string) => Promise<void>
}

/** Web push of trouble. */
export interface PushOptions {
  /** The public VAPID key, base64url: `npx web-push generate-vapid-keys` makes a pair. */
  readonly publicKey: string
  /**
   * Encrypts a message and sends it, within 10 s. It is called once per subscription. Where it rejects with a
   * `statusCode` of 404 or 410, the subscription has ended and is removed; other errors are logged.
   * @example send: (subscription, message) => webpush.sendNotification(subscription, message, { timeout: 10_000 })
   */
  readonly send: (subscription: BrowserSubscription, message: string) => Promise<unknown>
  readonly subscriptions: BrowserSubscriptions
  /**
   * Names of the hosts that messages may be sent to, each with those below it: an endpoint is what a user of the page
   * says it is. 1…50, default: the push services of Chrome, Edge, Firefox and Safari.
   */
  readonly services?: readonly string[]
}

const knownServices = [
  'fcm.googleapis.com',
  'jmt17.google.com',
  'push.services.mozilla.com',
  'notify.windows.com',
  'push.apple.com',
]

/** A point of P-256 without compression is 65 bytes, of which the first is 4. */
const publicKey = is(
  'a public VAPID key of 87 characters',
  (value): value is string => typeof value === 'string' && /^B[\w-]{86}$/.test(value),
  'Make a pair with `npx web-push generate-vapid-keys`.',
)

const host = where(text(253), (name) => /^[a-z\d.-]+$/.test(name), 'the name of a host, in small letters')

export const pushOptions = object(
  {
    publicKey: required(publicKey),
    send: required(fn<PushOptions['send']>()),
    subscriptions: required(
      withMethods<BrowserSubscriptions>(
        ['list', 'add', 'remove'],
        'an object that keeps subscriptions',
        "Use fileSubscriptions('push.json').",
      ),
    ),
    services: byDefault(
      knownServices,
      where(listOf('1 to 50 names of hosts', host, 50), ({ length }) => length > 0, '1 to 50 names of hosts'),
    ),
  } satisfies RulesOf<PushOptions>,
  'Pass { publicKey, send, subscriptions }.',
)

type PushSettings = ReturnType<typeof pushOptions>

const base64url = (characters: number) =>
  is(
    `base64url of ${characters} characters`,
    (value): value is string => typeof value === 'string' && value.length === characters && /^[\w-]+$/.test(value),
  )

/** As a browser sends it; it has other members, too, as `expirationTime`. */
const subscriptionRule = table(
  {
    endpoint: required(text(1_000)),
    keys: required(table({ p256dh: required(base64url(87)), auth: required(base64url(22)) }, { open: true })),
  },
  { open: true },
)

/** More browsers are refused: each is a request per report. */
const subscriptionsMax = 100
/** Messages that are sent at once. */
const sendsMax = 10
const sendMs = 10_000
/** Of the JSON of a message: a push service takes 4,096 bytes, encryption included. */
const messageBytesMax = 3_000

/** What the browser shows. Built into the page: `page/push-worker.ts`. */
export interface PushMessage {
  readonly title: string
  readonly began: readonly { readonly key: string; readonly text: string }[]
  /** How much more has begun than is in the message. */
  readonly more: number
}

export class Push {
  private readonly settings: PushSettings
  private readonly title: string

  constructor(settings: PushSettings, title: string) {
    this.settings = settings
    this.title = title
  }

  get publicKey(): string {
    return this.settings.publicKey
  }

  /** @throws JobchartError INVALID_INPUT, CAPACITY */
  async add(given: unknown): Promise<void> {
    const { endpoint, keys } = this.checked(given)
    const { subscriptions } = this.settings
    const kept = await subscriptions.list()
    if (kept.length >= subscriptionsMax && !kept.some((each) => each.endpoint === endpoint)) {
      const hint = 'Remove those of browsers that nobody uses.'
      throw new JobchartError('CAPACITY', `${subscriptionsMax} browsers are told already`, { hint })
    }
    await subscriptions.add({ endpoint, keys: { p256dh: keys.p256dh, auth: keys.auth } })
  }

  /** @throws JobchartError INVALID_INPUT */
  async remove(endpoint: unknown): Promise<void> {
    if (typeof endpoint !== 'string') throw new JobchartError('INVALID_INPUT', 'endpoint is no text')
    await this.settings.subscriptions.remove(endpoint)
  }

  /** Tells every browser what has begun. */
  async tell({ began }: TroubleReport): Promise<void> {
    if (began.length === 0) return
    const message = messageOf(this.title, began)
    const failures: unknown[] = []
    await someAtOnce(await this.settings.subscriptions.list(), sendsMax, async (subscription) => {
      try {
        await this.sendTo(subscription, message)
      } catch (error) {
        failures.push(error)
      }
    })
    const [error] = failures
    if (failures.length > 0) consoleLogger.error('a push message was not taken', { failures: failures.length, error })
  }

  private async sendTo(subscription: BrowserSubscription, message: string): Promise<void> {
    const { send, subscriptions } = this.settings
    try {
      await withinTime(Promise.resolve(send(subscription, message)), sendMs, unsent)
    } catch (error) {
      const status = error instanceof Error && 'statusCode' in error ? error.statusCode : null
      if (status !== 404 && status !== 410) throw error
      await subscriptions.remove(subscription.endpoint)
    }
  }

  private checked(given: unknown): BrowserSubscription {
    let subscription: BrowserSubscription
    try {
      subscription = subscriptionRule(given, 'subscription')
    } catch (cause) {
      throw new JobchartError('INVALID_INPUT', cause instanceof Error ? cause.message : String(cause), { cause })
    }
    const { endpoint } = subscription
    const url = URL.canParse(endpoint) ? new URL(endpoint) : null
    const isService = (name: string): boolean => url?.hostname === name || url?.hostname.endsWith(`.${name}`) === true
    const isPlain = url?.protocol === 'https:' && url.username === '' && url.password === '' && url.port === ''
    if (isPlain && this.settings.services.some(isService)) return subscription
    throw new JobchartError('INVALID_INPUT', 'the endpoint is of no push service that is known', {
      hint: 'Name its host in push.services of createDashboard.',
    })
  }
}

/** As much as fits, the worst first. */
export function messageOf(title: string, began: TroubleReport['began']): string {
  const shown: PushMessage['began'][number][] = []
  const of = (): string =>
    JSON.stringify({ title, began: shown, more: began.length - shown.length } satisfies PushMessage)
  let message = of()
  for (const { key, text: words } of began) {
    shown.push({ key: shortened(key), text: shortened(words) })
    const longer = of()
    if (Buffer.byteLength(longer) > messageBytesMax) break
    message = longer
  }
  return message
}

/** Names of types and schedules are in it, which may be long. */
const shortened = (words: string): string =>
  words.length <= 300 ? words : `${Array.from(words).slice(0, 299).join('')}…`

const unsent = (): JobchartError => new JobchartError('TIMEOUT', `the push service took no message within ${sendMs} ms`)
