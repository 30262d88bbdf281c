# Receives Posture's webhooks. Windows PowerShell 5.1 or PowerShell 7, nothing to install.
#
# WEBHOOK_SECRET  the signing secret as it was shown: whsec_...
# PORT            where to listen on 127.0.0.1, behind a proxy that speaks HTTPS (default 8090)

$ErrorActionPreference = 'Stop'
if (-not $env:WEBHOOK_SECRET) { throw 'WEBHOOK_SECRET is not set' }
$Secret = [Text.Encoding]::UTF8.GetBytes($env:WEBHOOK_SECRET)
$Port = if ($env:PORT) { [int]$env:PORT } else { 8090 }
$BodyBytesMax = 1024 * 1024
$IdsMax = 100000

# Keep the ids where the events go, so that they outlive a restart.
$KnownIds = [Collections.Generic.HashSet[string]]::new()
$Order = [Collections.Generic.Queue[string]]::new()

# In constant time: every character is looked at.
function Test-Same([string]$Expected, [string]$Given) {
    $difference = $Expected.Length -bxor $Given.Length
    for ($i = 0; $i -lt $Expected.Length; $i++) {
        $other = if ($i -lt $Given.Length) { [int]$Given[$i] } else { 0 }
        $difference = $difference -bor ([int]$Expected[$i] -bxor $other)
    }
    return $difference -eq 0
}

# Over the raw bytes, before anything is parsed.
function Test-Signed($Headers, [byte[]]$Body) {
    $hmac = [Security.Cryptography.HMACSHA256]::new($Secret)
    $digest = $hmac.ComputeHash($Body)
    $hmac.Dispose()
    $expected = [BitConverter]::ToString($digest).Replace('-', '').ToLowerInvariant()
    # The second one is there after a rotation, made with the secret before.
    $first = Test-Same $expected $Headers['X-Service-Signature']
    $second = Test-Same $expected $Headers['X-Service-Signature-Previous']
    return $first -or $second
}

# A delivery may come more than once, always with the same id.
function Test-New([string]$Id) {
    if (-not $KnownIds.Add($Id)) { return $false }
    $Order.Enqueue($Id)
    if ($Order.Count -gt $IdsMax) { [void]$KnownIds.Remove($Order.Dequeue()) }
    return $true
}

function Read-Body($Request) {
    $body = [byte[]]::new([int]$Request.ContentLength64)
    $length = 0
    while ($length -lt $body.Length) {
        $n = $Request.InputStream.Read($body, $length, $body.Length - $length)
        if ($n -eq 0) { throw 'the body ended early' }
        $length += $n
    }
    return , $body
}

# Whatever takes long belongs into another process: hand the event over here, after the answer.
function Invoke-Work([byte[]]$Body) {
    $text = [Text.Encoding]::UTF8.GetString($Body)
    $received = ConvertFrom-Json $text
    [Console]::Out.WriteLine("$($received.id) $($received.type) $($received.data.clientId)")
}

$listener = [Net.HttpListener]::new()
$listener.Prefixes.Add("http://127.0.0.1:$Port/")
$listener.Start()
[Console]::Out.WriteLine("listening on http://127.0.0.1:$Port/")
while ($listener.IsListening) {
    $context = $listener.GetContext()
    $request = $context.Request
    $body = $null
    $status = 413
    try {
        if ($request.ContentLength64 -ge 0 -and $request.ContentLength64 -le $BodyBytesMax) {
            $body = Read-Body $request
            $status = if (Test-Signed $request.Headers $body) { 204 } else { 401 }
        }
        $context.Response.StatusCode = $status
        $context.Response.Close()
        if ($status -eq 204 -and (Test-New $request.Headers['X-Service-Event-Id'])) {
            Invoke-Work $body
        }
    }
    catch {
        [Console]::Error.WriteLine("a request failed: $_")
        $context.Response.Abort()
    }
}
