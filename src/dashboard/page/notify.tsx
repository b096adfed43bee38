/**
 * Notifications of the browser: of what is no longer as usual. Where the server has web push, it tells the browser,
 * also while no page is open; else the page looks, as long as it is open in any tab.
 */
import { effect, signal } from '@preact/signals'
import type { JSX } from 'preact'
import type { Trouble } from '../trouble.ts'
import { about } from './about.ts'
import { get, post } from './api.ts'
import { say } from './dialog.tsx'

const storedAs = 'jobchart notifications'
const everyMs = 30_000

const isOn = signal(localStorage.getItem(storedAs) === 'on')
/** Does the server tell this browser? */
const isPushed = signal(false)
let known: ReadonlySet<string> | null = null
let timer: ReturnType<typeof setInterval> | null = null

/** Tells of trouble as long as notifications are wanted. */
export function startNotify(): void {
  effect(() => {
    const looks = isOn.value && !isPushed.value
    if (looks && timer === null) {
      timer = setInterval(() => void look(), everyMs)
      void look()
    } else if (!looks && timer !== null) {
      clearInterval(timer)
      timer = null
      known = null
    }
  })
  // The server may have lost its subscriptions, or have another key: each page that is opened subscribes again.
  effect(() => {
    const { push } = about.value
    if (isOn.peek() && push !== null) void subscribe(push).catch(tellRefusal)
  })
}

async function look(): Promise<void> {
  const answer = await get<{ readonly trouble: readonly Trouble[] }>('/trouble').catch(() => null)
  if (answer === null) return
  const { trouble } = answer
  // What is there when they are switched on stands on the page.
  const began = known === null ? [] : trouble.filter(({ key }) => known?.has(key) === false)
  known = new Set(trouble.map(({ key }) => key))
  for (const { key, text } of began.slice(0, toldMax)) notify(text, key)
  if (began.length > toldMax) notify(`And ${began.length - toldMax} more.`, 'more')
}

/** Of more that begins at once, one notification tells the number. */
const toldMax = 8

const notify = (body: string, tag: string): Notification => new Notification(about.value.title, { body, tag })

/** @throws what the browser, its push service or the server answers */
async function subscribe(applicationServerKey: string): Promise<void> {
  if (!('serviceWorker' in navigator) || !('PushManager' in globalThis)) throw new Error('it has no web push.')
  const { pushManager } = await registered()
  const options = { userVisibleOnly: true, applicationServerKey }
  const subscription = await pushManager.subscribe(options).catch(async (error: unknown) => {
    // Of another key: that of the server has changed.
    const before = await pushManager.getSubscription()
    if (before === null) throw error
    await before.unsubscribe()
    return pushManager.subscribe(options)
  })
  await post('/push/subscribe', subscription.toJSON())
  isPushed.value = true
}

async function unsubscribe(): Promise<void> {
  isPushed.value = false
  if (!('serviceWorker' in navigator)) return
  const registration = await navigator.serviceWorker.getRegistration('assets/')
  const subscription = await registration?.pushManager.getSubscription()
  if (subscription === null || subscription === undefined) return
  const { endpoint } = subscription
  await subscription.unsubscribe()
  await post('/push/unsubscribe', { endpoint })
}

/** The registration of the worker once it is active: a browser refuses to subscribe before. */
async function registered(): Promise<ServiceWorkerRegistration> {
  const registration = await navigator.serviceWorker.register('assets/push.js')
  const worker = registration.installing ?? registration.waiting
  if (registration.active !== null || worker === null) return registration
  await new Promise<void>((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve()
      else if (worker.state === 'redundant') reject(new Error('its service worker could not be installed.'))
    })
  })
  return registration
}

const tellRefusal = (error: unknown): void =>
  say(`This browser is told while the page is open only: ${reasonOf(error)}`, true)

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

async function toggle(): Promise<void> {
  if (isOn.value) isOn.value = false
  else if ((await Notification.requestPermission()) === 'granted') isOn.value = true
  else return say('The browser does not allow notifications of this page.', true)
  localStorage.setItem(storedAs, isOn.value ? 'on' : 'off')
  await (isOn.value ? tellOn() : tellOff())
}

async function tellOn(): Promise<void> {
  const { push } = about.value
  try {
    if (push !== null) await subscribe(push)
  } catch (error) {
    return tellRefusal(error)
  }
  const until = push === null ? 'while the page is open' : 'also when the page is closed'
  say(`This browser tells what is no longer as usual, ${until}.`)
}

async function tellOff(): Promise<void> {
  try {
    await unsubscribe()
    say('No notifications any more.')
  } catch (error) {
    say(`The browser tells nothing any more, but the server could not forget it: ${reasonOf(error)}`, true)
  }
}

/** Nothing where the browser has no notifications: a page that was not loaded by HTTPS or from this computer. */
export const NotifyButton = (): JSX.Element | null =>
  'Notification' in globalThis ? (
    <button type="button" class="quiet" aria-pressed={isOn.value} onClick={() => void toggle()}>
      {isOn.value ? 'Notifications are on' : 'Notify me'}
    </button>
  ) : null
